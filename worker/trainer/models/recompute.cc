#include "worker/trainer/models/recompute.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>
#include <optional>

#include "worker/trainer/precision/autocast.h"

namespace gt::trainer {
namespace {

thread_local bool recomputing = false;

at::Tensor RandomState(const at::Device& device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void SetRandomState(const at::Device& device, const at::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

// What the second run needs to be like the first.
struct Recipe : torch::CustomClassHolder {
  std::function<at::Tensor(const at::Tensor&)> block;
  at::Tensor random_state;
  std::optional<at::ScalarType> autocast;
};

// A second run: random numbers as in the first, and afterwards as if there had been none.
class SecondRun {
 public:
  SecondRun(const Recipe& recipe, const at::Device& device) : device_(device), before_(RandomState(device)) {
    SetRandomState(device, recipe.random_state);
    if (recipe.autocast) autocast_.emplace(device.type(), *recipe.autocast);
    recomputing = true;
  }
  ~SecondRun() {
    recomputing = false;
    SetRandomState(device_, before_);
  }
  SecondRun(const SecondRun&) = delete;
  SecondRun& operator=(const SecondRun&) = delete;

 private:
  at::Device device_;
  at::Tensor before_;
  std::optional<AutocastGuard> autocast_;
};

class Block : public torch::autograd::Function<Block> {
 public:
  using Context = torch::autograd::AutogradContext;
  using Tensors = torch::autograd::variable_list;

  static at::Tensor forward(Context* context, const c10::intrusive_ptr<Recipe>& recipe, const at::Tensor& x,
                            at::TensorList parameters) {
    Tensors saved{x};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(saved);
    context->saved_data["recipe"] = c10::IValue::make_capsule(recipe);
    return recipe->block(x);  // apply has switched gradients off
  }

  // The gradients come from a graph of their own, and go to the parameters through this function's outer graph: there
  // each parameter is ready once, as the Reducer's hooks need it.
  static Tensors backward(Context* context, Tensors gradients) {
    Tensors saved = context->get_saved_variables();
    auto recipe = c10::static_intrusive_pointer_cast<Recipe>(context->saved_data["recipe"].toCapsule());
    at::Tensor x = saved[0].detach().set_requires_grad(saved[0].requires_grad());
    Tensors wanted(saved.begin() + 1, saved.end()), found;
    if (x.requires_grad()) wanted.insert(wanted.begin(), x);
    at::Tensor y;
    {
      at::AutoGradMode gradients_on(true);
      SecondRun second(*recipe, x.device());
      y = recipe->block(x);
    }
    // Outside of the second run: a backward pass is never under autocast.
    found = torch::autograd::grad({y}, wanted, {gradients[0]}, /*retain_graph=*/false, /*create_graph=*/false,
                                  /*allow_unused=*/true);
    if (!x.requires_grad()) found.insert(found.begin(), at::Tensor());
    found.insert(found.begin(), at::Tensor());  // that of `recipe`
    return found;
  }
};

}  // namespace

at::Tensor Recomputed(const std::function<at::Tensor(const at::Tensor&)>& block, const at::Tensor& x,
                      const std::vector<at::Tensor>& parameters) {
  if (!at::GradMode::is_enabled()) return block(x);
  auto recipe = c10::make_intrusive<Recipe>();
  recipe->block = block;
  recipe->random_state = RandomState(x.device());
  if (at::autocast::is_autocast_enabled(x.device().type()))
    recipe->autocast = at::autocast::get_autocast_dtype(x.device().type());
  return Block::apply(recipe, x, at::TensorList(parameters));
}

bool IsRecomputing() { return recomputing; }

}  // namespace gt::trainer
