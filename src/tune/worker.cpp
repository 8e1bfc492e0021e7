#include "tune/worker.hpp"

#include "tune/checker.hpp"
#include <gemwright/errors.hpp>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <thread>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gemwright::tune {
namespace {

using nlohmann::json;

// Ends this process when its parent is gone, even in the middle of a kernel that never ends. The
// kernel's parent-death signal would do so when the parent's *thread* ends, which may be earlier.
void end_with(pid_t parent) {
  std::thread([parent] {
    while (getppid() == parent) {
      pollfd input{.fd = STDIN_FILENO, .events = 0, .revents = 0};
      const int changed = poll(&input, 1, 1000);
      if (changed > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) break;
    }
    _exit(0);
  }).detach();
}

// Replies go to a descriptor of their own: what a library prints on standard output is no reply.
int take_over_output() {
  const int replies = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return replies;
}

void reply(int descriptor, const json& message) {
  const std::string line = message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(descriptor, line.data() + written, line.size() - written);
    if (count <= 0) _exit(0);
    written += static_cast<std::size_t>(count);
  }
}

json to_json(const Verdict& verdict) {
  return {{"kind", name(verdict.kind)}, {"reason", verdict.reason}};
}

Verdict prepare(Checker& checker, const json& request) {
  try {
    checker.prepare(parse_problem(request.at("problem").get<std::string>()),
                    Device::parse(request.at("device").get<std::string>()));
    return {};
  } catch (const OutOfMemory& error) {
    return {Verdict::Kind::memory, error.what()};
  } catch (const std::bad_alloc&) {
    return {Verdict::Kind::memory, "out of memory"};
  } catch (const std::exception& error) {
    return {Verdict::Kind::undone, error.what()};
  }
}

Verdict check(Checker& checker, const json& request,
              const std::function<const Family*(std::string_view)>& find) {
  try {
    const auto family_name = request.at("family").get<std::string>();
    const Family* family = find(family_name);
    if (family == nullptr) return {Verdict::Kind::undone, "no family " + family_name};
    return checker.check(*family, families::from_json(*family, request.at("configuration").dump()));
  } catch (const std::exception& error) {
    return {Verdict::Kind::undone, error.what()};
  }
}

}  // namespace

int worker_main(const std::function<const Family*(std::string_view)>& find) {
  end_with(getppid());
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int replies = take_over_output();
  Checker checker(true);
  std::string line;
  while (std::getline(std::cin, line)) {
    const json request = json::parse(line, nullptr, false);
    if (!request.is_object()) return 2;
    if (request.contains("hello")) {
      reply(replies, {{"hello", GEMWRIGHT_VERSION}});
    } else if (request.contains("problem")) {
      reply(replies, to_json(prepare(checker, request)));
    } else if (request.contains("release")) {
      checker.release();
      reply(replies, to_json(Verdict{}));
    } else {
      reply(replies, to_json(check(checker, request, find)));
    }
  }
  // Without destructors: a kernel may have left anything behind.
  _exit(0);
}

}  // namespace gemwright::tune
