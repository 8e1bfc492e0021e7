// The worker process, in which candidates run first.
#pragma once

#include "families/family.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace gemwright::tune {

/// What "gemwright worker" does: answers the requests of its parent, one line of JSON each, from
/// standard input to standard output, until the parent closes them or is gone. `find` gives the
/// families by name; tests have some of their own.
///
///   {"hello": version}                                  -> {"hello": version}
///   {"problem": key, "device": "cpu:2"}                 -> {"kind": "right"}
///   {"family": name, "configuration": {name: value}}    -> {"kind": "wrong", "reason": "..."}
///   {"release": true}                                   -> {"kind": "right"}
///
/// Kinds are those of Verdict.
int worker_main(const std::function<const Family*(std::string_view)>& find = families::find);

/// The program that is started with the argument "worker": $GEMWRIGHT_WORKER, else `gemwright`
/// beside this executable or this library, or in the library's ../bin, or where it was installed.
/// Empty when there is none.
std::string worker_program();

}  // namespace gemwright::tune
