// The CUDA driver, opened at run time: nothing links a CUDA library.
#pragma once

#include <gemwright/errors.hpp>

#include <string>

#include <cuda.h>
#include <cudaTypedefs.h>

namespace gemwright::cuda {

/// The entry of that name as of a CUDA version (12000 is 12.0). Throws DeviceError when the driver
/// is older.
void* driver_symbol(const char* name, int version);

/// A driver function, resolved when constructed; called as the function itself.
template <typename Function>
class Entry {
 public:
  Entry(const char* name, int version)
      : function_(reinterpret_cast<Function>(driver_symbol(name, version))) {}
  operator Function() const { return function_; }

 private:
  Function function_;
};

/// What is used of the driver's API, with the version of each that is asked for.
struct Driver {
  Entry<PFN_cuInit_v2000> init{"cuInit", 2000};
  Entry<PFN_cuDriverGetVersion_v2020> driver_get_version{"cuDriverGetVersion", 2020};
  Entry<PFN_cuGetErrorName_v6000> get_error_name{"cuGetErrorName", 6000};
  Entry<PFN_cuGetErrorString_v6000> get_error_string{"cuGetErrorString", 6000};

  Entry<PFN_cuDeviceGetCount_v2000> device_get_count{"cuDeviceGetCount", 2000};
  Entry<PFN_cuDeviceGet_v2000> device_get{"cuDeviceGet", 2000};
  Entry<PFN_cuDeviceGetName_v2000> device_get_name{"cuDeviceGetName", 2000};
  Entry<PFN_cuDeviceTotalMem_v3020> device_total_mem{"cuDeviceTotalMem", 3020};
  Entry<PFN_cuDeviceGetAttribute_v2000> device_get_attribute{"cuDeviceGetAttribute", 2000};
  Entry<PFN_cuDeviceGetPCIBusId_v4010> device_get_pci_bus_id{"cuDeviceGetPCIBusId", 4010};
  Entry<PFN_cuDevicePrimaryCtxRetain_v7000> primary_ctx_retain{"cuDevicePrimaryCtxRetain", 7000};

  Entry<PFN_cuCtxGetCurrent_v4000> ctx_get_current{"cuCtxGetCurrent", 4000};
  Entry<PFN_cuCtxGetDevice_v2000> ctx_get_device{"cuCtxGetDevice", 2000};
  Entry<PFN_cuCtxPushCurrent_v4000> ctx_push_current{"cuCtxPushCurrent", 4000};
  Entry<PFN_cuCtxPopCurrent_v4000> ctx_pop_current{"cuCtxPopCurrent", 4000};
  Entry<PFN_cuCtxSynchronize_v2000> ctx_synchronize{"cuCtxSynchronize", 2000};

  Entry<PFN_cuLibraryLoadData_v12000> library_load_data{"cuLibraryLoadData", 12000};
  Entry<PFN_cuLibraryUnload_v12000> library_unload{"cuLibraryUnload", 12000};
  Entry<PFN_cuLibraryGetKernel_v12000> library_get_kernel{"cuLibraryGetKernel", 12000};
  Entry<PFN_cuKernelGetFunction_v12000> kernel_get_function{"cuKernelGetFunction", 12000};
  Entry<PFN_cuKernelSetAttribute_v12000> kernel_set_attribute{"cuKernelSetAttribute", 12000};
  Entry<PFN_cuLaunchKernelEx_v11060> launch_kernel_ex{"cuLaunchKernelEx", 11060};
  Entry<PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050> max_active_blocks{
      "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050};
  Entry<PFN_cuOccupancyMaxActiveClusters_v11070> max_active_clusters{"cuOccupancyMaxActiveClusters",
                                                                     11070};
  Entry<PFN_cuTensorMapEncodeTiled_v12000> tensor_map_encode_tiled{"cuTensorMapEncodeTiled", 12000};

  Entry<PFN_cuMemAlloc_v3020> mem_alloc{"cuMemAlloc", 3020};
  Entry<PFN_cuMemFree_v3020> mem_free{"cuMemFree", 3020};
  Entry<PFN_cuMemHostAlloc_v2020> mem_host_alloc{"cuMemHostAlloc", 2020};
  Entry<PFN_cuMemFreeHost_v2000> mem_free_host{"cuMemFreeHost", 2000};
  Entry<PFN_cuMemGetInfo_v3020> mem_get_info{"cuMemGetInfo", 3020};
  Entry<PFN_cuMemcpyHtoDAsync_v3020> memcpy_to_device{"cuMemcpyHtoDAsync", 3020};
  Entry<PFN_cuMemcpyDtoHAsync_v3020> memcpy_to_host{"cuMemcpyDtoHAsync", 3020};
  Entry<PFN_cuMemcpyDtoDAsync_v3020> memcpy_on_device{"cuMemcpyDtoDAsync", 3020};
  Entry<PFN_cuMemsetD8Async_v3020> memset_bytes{"cuMemsetD8Async", 3020};

  Entry<PFN_cuStreamCreate_v2000> stream_create{"cuStreamCreate", 2000};
  Entry<PFN_cuStreamDestroy_v4000> stream_destroy{"cuStreamDestroy", 4000};
  Entry<PFN_cuStreamSynchronize_v2000> stream_synchronize{"cuStreamSynchronize", 2000};
  Entry<PFN_cuStreamQuery_v2000> stream_query{"cuStreamQuery", 2000};
  Entry<PFN_cuStreamIsCapturing_v10000> stream_is_capturing{"cuStreamIsCapturing", 10000};
  Entry<PFN_cuStreamBeginCapture_v10010> stream_begin_capture{"cuStreamBeginCapture", 10010};
  Entry<PFN_cuStreamEndCapture_v10000> stream_end_capture{"cuStreamEndCapture", 10000};
  Entry<PFN_cuGraphInstantiateWithFlags_v11040> graph_instantiate{"cuGraphInstantiateWithFlags",
                                                                  11040};
  Entry<PFN_cuGraphUpload_v11010> graph_upload{"cuGraphUpload", 11010};
  Entry<PFN_cuGraphLaunch_v10000> graph_launch{"cuGraphLaunch", 10000};
  Entry<PFN_cuGraphExecDestroy_v10000> graph_exec_destroy{"cuGraphExecDestroy", 10000};
  Entry<PFN_cuGraphDestroy_v10000> graph_destroy{"cuGraphDestroy", 10000};
  Entry<PFN_cuEventCreate_v2000> event_create{"cuEventCreate", 2000};
  Entry<PFN_cuEventDestroy_v4000> event_destroy{"cuEventDestroy", 4000};
  Entry<PFN_cuEventRecord_v2000> event_record{"cuEventRecord", 2000};
  Entry<PFN_cuEventSynchronize_v2000> event_synchronize{"cuEventSynchronize", 2000};
  Entry<PFN_cuEventElapsedTime_v2000> event_elapsed_time{"cuEventElapsedTime", 2000};
};

/// The driver, opened and initialised on the first call. Throws DeviceError saying what is missing.
const Driver& driver();

/// Null when there is no usable driver or no GPU; `why` (may be null) then gets the reason.
const Driver* find_driver(std::string* why = nullptr);

/// Throws DeviceError, "<what>: CUDA_ERROR_... (text)", unless the call succeeded; OutOfMemory when
/// that was the reason.
void check(CUresult result, const char* what);

/// The primary context of a device: the one that PyTorch and the CUDA runtime use. Retained on
/// first use, for the process's life. Throws DeviceError when there is no such device.
CUcontext primary_context(int ordinal);

/// Makes the primary context of a device current, and the caller's again when it goes.
class CurrentContext {
 public:
  explicit CurrentContext(int ordinal);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
};

}  // namespace gemwright::cuda
