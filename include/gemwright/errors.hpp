// Exceptions thrown by gemwright. Every one derives from Error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#pragma GCC visibility push(default)

namespace gemwright {

/// Base of everything that gemwright throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument is wrong: says which, what was given, and what is allowed.
class InvalidArgument : public Error {
 public:
  InvalidArgument(std::string argument, const std::string& given, const std::string& allowed)
      : Error(argument + ": given " + given + "; allowed: " + allowed),
        argument_(std::move(argument)) {}

  const std::string& argument() const noexcept { return argument_; }

  /// The same, said of an argument inside something: a file, a list's line.
  InvalidArgument within(const std::string& place) const { return named(place + ": " + argument_); }
  /// The same, said of another name: an option as it was typed, a tensor instead of "w".
  InvalidArgument named(std::string name) const { return {std::move(name), *this}; }

 private:
  // What follows the argument's name is the other's.
  InvalidArgument(std::string argument, const InvalidArgument& other)
      : Error(argument + (other.what() + other.argument_.size())), argument_(std::move(argument)) {}

  std::string argument_;
};

/// No kernel can run the problem under the options given; the message holds every refusal.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// Kernels take the problem, and every one of them failed; the message holds what each did.
class AllFailed : public Unsupported {
 public:
  using Unsupported::Unsupported;
};

/// A device, driver or library call failed at run time.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A device or the host has no memory left for what was asked.
class OutOfMemory : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

}  // namespace gemwright

#pragma GCC visibility pop
