#!/usr/bin/env python3
"""Lists the skipped tests of a CTest JUnit file with their reasons, one line a reason."""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree


def main() -> int:
    skipped = collections.defaultdict(list)
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        if case.get("status") not in ("disabled", "notrun") and case.find("skipped") is None:
            continue
        output = case.findtext("system-out") or ""
        reason = re.search(r"Skipped\n(.+)", output)
        skipped[reason.group(1).strip() if reason else "no reason given"].append(case.get("name"))
    for reason, names in sorted(skipped.items()):
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        print(f"skipped: {', '.join(names[:3])}{more}: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
