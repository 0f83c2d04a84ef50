# FindTorchWheel: LibTorch as the pip wheel carries it, without CMake's own TorchConfig (which demands a CUDA toolkit).
# In: GT_TORCH_DIR, a folder that holds torch/ and nvidia/ (deploy/torch.sh prints it).
# Out: target TorchWheel::torch_cpu.
if(NOT GT_TORCH_DIR)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/deploy/torch.sh --find OUTPUT_VARIABLE found_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE found_rc)
  if(found_rc EQUAL 0)
    set(GT_TORCH_DIR ${found_dir} CACHE PATH "folder that holds torch/ and nvidia/, as deploy/torch.sh prints it" FORCE)
  endif()
endif()

set(torch_include ${GT_TORCH_DIR}/torch/include)
if(NOT GT_TORCH_DIR OR NOT EXISTS ${torch_include}/ATen/ATen.h OR NOT EXISTS ${GT_TORCH_DIR}/torch/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch was not found (GT_TORCH_DIR='${GT_TORCH_DIR}'). Run deploy/torch.sh, which installs it once, "
                      "and configure again; or build without the trainer: -DGT_BUILD_TRAINER=OFF")
endif()
set(cuda_root ${GT_TORCH_DIR}/nvidia/cu13)

if(NOT TARGET TorchWheel::torch_cpu)
  add_library(TorchWheel::torch_cpu INTERFACE IMPORTED)
  # The wheel has no Gloo headers; declarations of the few types that c10d's header names are enough.
  target_include_directories(TorchWheel::torch_cpu SYSTEM INTERFACE ${CMAKE_CURRENT_LIST_DIR}/gloo_declarations
    ${torch_include} ${torch_include}/torch/csrc/api/include ${cuda_root}/include)
  target_compile_definitions(TorchWheel::torch_cpu INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
  target_link_directories(TorchWheel::torch_cpu INTERFACE ${GT_TORCH_DIR}/torch/lib ${cuda_root}/lib)
  # DT_RPATH (not RUNPATH): the wheel's own libraries find their CUDA neighbours through it too.
  target_link_options(TorchWheel::torch_cpu INTERFACE -Wl,--disable-new-dtags -Wl,--allow-shlib-undefined
    -Wl,-rpath,${GT_TORCH_DIR}/torch/lib:${cuda_root}/lib)
  target_link_libraries(TorchWheel::torch_cpu INTERFACE -Wl,--no-as-needed torch_cpu c10 -Wl,--as-needed)
endif()
