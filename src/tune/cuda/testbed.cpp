#include "tune/testbed.hpp"

#include <gemwright/errors.hpp>

namespace gemwright::tune {

std::unique_ptr<Testbed> make_cuda_testbed(const Problem&, const Device& device,
                                           const TestbedOptions&) {
  throw DeviceError("tuning on " + device.name() + " is not built in");
}

}  // namespace gemwright::tune
