// Convolutions in the memory layout in which they are fastest.
#pragma once
#include <ATen/ATen.h>

namespace gt::trainer {

// Channels last is the layout in which CPU convolutions and pooling are fastest; with one channel both layouts are the
// same memory, and only the strides say which one is meant.
inline at::Tensor ChannelsLast(const at::Tensor& images) {
  int64_t c = images.size(1), h = images.size(2), w = images.size(3);
  return images.contiguous(at::MemoryFormat::ChannelsLast).as_strided(images.sizes(), {h * w * c, 1, w * c, c});
}

// The weight through a view whose gradient comes back in the weight's own layout: that of a channels-last convolution
// would otherwise be copied, against its strides, into the bucket.
inline at::Tensor Plain(const at::Tensor& weight) {
  return weight.view({weight.size(0), -1}).view(weight.sizes());
}

}  // namespace gt::trainer
