// relu(max_pool2d(x, 2)) as one pass over memory each way.
#pragma once
#include <ATen/core/Tensor.h>

namespace gt::trainer {

// x: [n, c, h, w]. The answer has x's values and gradients as ATen's two operations have them, for finite x. On CPU in
// float and channels-last it is one fused operation, else those two.
at::Tensor PoolRelu(const at::Tensor& x);

}  // namespace gt::trainer
