#!/usr/bin/env python3
"""clang-tidy over src/, after `cmake --preset release`; fails on any finding.

Most of its time goes into the headers, so a folder's files are read as one; where two of them use
the same name and cannot be, each is read alone. What passed is remembered by content in
build/lint, so that a second run looks only at what changed. Takes no arguments.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "lint"
KEPT = ("-I", "-D", "-std", "-W", "-m")


def flags_of(command: str) -> list[str]:
    """What of a compiler's command matters to clang-tidy."""
    words = command.replace('\\"', '"').split()
    flags = []
    for word, following in zip(words, words[1:] + [""]):
        if word == "-isystem":
            flags.append(f"{word}{following}")
        elif word.startswith(KEPT) and word != "-Werror":
            flags.append(word)
    return flags


def groups() -> dict[str, dict]:
    """By name, one a folder and instruction set: the files, and the flags of them all."""
    built = {}
    for entry in json.loads((ROOT / "build/release/compile_commands.json").read_text()):
        built[entry["file"]] = flags_of(entry["command"])
    listed = subprocess.run(["git", "ls-files", "src/*.cpp"], cwd=ROOT, text=True,
                            check=True, stdout=subprocess.PIPE).stdout.split()
    found = {}
    for file in listed:
        flags = built.get(str(ROOT / file))
        if flags is None:
            print(f"skipped: clang-tidy: {file} is not part of this build")
            continue
        machine = "".join(flag for flag in flags if flag.startswith("-m"))
        name = os.path.dirname(file)[4:].replace("/", "-") + machine
        group = found.setdefault(name, {"files": [], "flags": []})
        group["files"].append(file)
        group["flags"] += [flag for flag in flags if flag not in group["flags"]]
    return found


def lint(name: str, group: dict, settings: bytes) -> str:
    """Findings, as text; empty when there are none."""
    texts = [(ROOT / file).read_bytes() for file in group["files"]]
    digest = hashlib.sha256(b"\0".join([settings, repr(group).encode(), *texts])).hexdigest()
    passed = WORK / digest[:32]
    if passed.exists():
        return ""
    whole = WORK / f"{name}.cpp"
    whole.write_text("".join(f'#include "{ROOT / file}"\n' for file in group["files"]))
    # A file that includes others is what is wanted here.
    run = subprocess.run(["clang-tidy", "--quiet", "--checks=-bugprone-suspicious-include",
                          str(whole), "--", *group["flags"]],
                         cwd=ROOT, text=True, capture_output=True)
    if run.returncode == 0:
        passed.touch()
        return ""
    return run.stdout or run.stderr


def lint_all(todo: dict[str, dict], settings: bytes) -> bool:
    """Whether there is nothing to find."""
    alone = {}
    clean = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(lint, name, group, settings): name for name, group in todo.items()}
        for job in concurrent.futures.as_completed(jobs):
            name, found = jobs[job], job.result()
            files = todo[name]["files"]
            if "clang-diagnostic-error" in found and len(files) > 1:
                alone |= {file[4:-4].replace("/", "-"): {**todo[name], "files": [file]}
                          for file in files}
            elif found:
                clean = False
                print(found)
    return clean and (not alone or lint_all(alone, settings))


def main() -> int:
    argparse.ArgumentParser(description=__doc__,
                            formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True).stdout
    headers = sorted([*ROOT.glob("src/**/*.hpp"), *ROOT.glob("include/**/*.hpp")])
    settings = b"\0".join([version, (ROOT / ".clang-tidy").read_bytes(),
                           *(path.read_bytes() for path in headers)])
    return 0 if lint_all(groups(), settings) else 1


if __name__ == "__main__":
    sys.exit(main())
