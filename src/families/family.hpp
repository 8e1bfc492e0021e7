// What a kernel family is to the rest of the library.
#pragma once

#include "compile/build_report.hpp"
#include "model/estimate.hpp"
#include <gemwright/device.hpp>
#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright {

inline constexpr int kMaxParameters = 24;

/// One setting of a family's parameters, in the order of Family::parameters(). Plain data.
struct Configuration {
  std::array<std::int32_t, kMaxParameters> values{};
  bool operator==(const Configuration&) const = default;
};

/// A built kernel. It takes the canonical problem it was built for, and any other that serves()
/// accepts: sizes and strides are run-time values wherever the family can make them so.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual bool serves(const Problem& problem) const = 0;
  virtual std::size_t workspace_bytes(const Problem& problem) const = 0;
  /// Operands are checked, sizes are not zero (K may be), the workspace is large enough. No
  /// allocation, lock or compilation in here.
  virtual void run(const Problem& problem, const Operands& operands, void* workspace,
                   Stream stream) const = 0;
  virtual const BuildReport& report() const;
};

/// A parameterised kernel and what the host knows of it. Stateless; one instance for the process.
class Family {
 public:
  virtual ~Family() = default;
  virtual std::string_view name() const = 0;
  virtual DeviceKind device_kind() const = 0;
  /// Bumped when configurations mean something else, or a fault was mended: results measured and
  /// failures remembered under another version are not used.
  virtual int version() const = 0;
  /// A vendor library: its candidates are never left out.
  virtual bool vendor() const { return false; }

  /// Nothing when the canonical problem is taken, else a sentence saying why not and, where the
  /// user can do something, what.
  virtual std::optional<std::string> refuse(const Problem& problem, const Device& device) const = 0;

  /// Names of the parameters, for the store and for --json.
  virtual std::span<const std::string_view> parameters() const = 0;
  /// Readable, stable and unique within the family, for instance "hopper_128x256x64_s4_c2x1_coop".
  virtual std::string configuration_name(const Configuration& configuration) const = 0;
  /// Every configuration that can run the problem; a vendor's come in its own order of preference.
  virtual std::vector<Configuration> configurations(const Problem& problem,
                                                    const Device& device) const = 0;
  /// Predicted time of each. Cheap: tens of nanoseconds a configuration.
  virtual void estimate(const Problem& problem, const Device& device,
                        std::span<const Configuration> configurations,
                        std::span<Estimate> estimates) const = 0;
  /// The order in which a configuration sums over K, by name, where that depends on nothing but K
  /// and the types: equal names promise equal bits for equal rows and columns, in every family.
  /// Empty where it depends on M, or is not known.
  virtual std::string_view summation_order(const Problem& problem,
                                           const Configuration& configuration) const;
  /// Compiles or prepares; may take long, and runs in parallel with other builds. Throws Error.
  virtual std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                              const Configuration& configuration) const = 0;
};

/// The refusal of families that multiply A as it is given, where the problem wants it rounded.
std::optional<std::string> refuse_activations(const Problem& problem);

namespace families {

/// Every family of this build, in the order in which equal candidates are preferred.
std::span<const Family* const> all();
/// Null when there is none of that name.
const Family* find(std::string_view name);

/// Parameters by name, as kept in the store: {"tile_m":128,...}; and back. from_json throws
/// InvalidArgument when a name is missing or unknown.
std::string to_json(const Family& family, const Configuration& configuration);
Configuration from_json(const Family& family, std::string_view json);

}  // namespace families
}  // namespace gemwright
