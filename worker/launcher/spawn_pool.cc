#include "worker/launcher/spawn_pool.h"

#include <signal.h>

namespace gt::launcher {

Result<std::unique_ptr<SpawnPool>> SpawnPool::Make(Poller* poller, const InheritedLimits& limits) {
  std::unique_ptr<SpawnPool> pool(new SpawnPool(poller));
  for (int i = 0; i < kSpawners; ++i) {
    GT_ASSIGN_OR_RETURN(Spawner spawner, Spawner::Make(i, limits));
    pool->spawners_.push_back(std::move(spawner));
  }
  for (Spawner& spawner : pool->spawners_) pool->threads_.emplace_back([&pool = *pool, &spawner] { pool.Main(&spawner); });
  return pool;
}

SpawnPool::~SpawnPool() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void SpawnPool::Spawn(const SpawnRequest& request, Done done) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({request, std::move(done)});
  }
  wake_.notify_one();
}

void SpawnPool::Main(Spawner* spawner) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    Job job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    auto spawned = std::make_shared<Result<Spawned>>(spawner->Spawn(job.request));
    poller_->Post([spawned, done = std::move(job.done)] { done(std::move(*spawned)); });
    lock.lock();
  }
}

}  // namespace gt::launcher
