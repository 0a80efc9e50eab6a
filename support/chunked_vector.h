// ChunkedVector: a table that grows without moving its entries.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace spmd {

// Entries lie side by side in chunks of `kChunk`, so that walking through them in order reads
// memory in order. (A std::deque keeps no two entries of 256 bytes together.) References stay valid
// while entries are added.
template <typename T>
class ChunkedVector {
 public:
  ChunkedVector() = default;
  ChunkedVector(const ChunkedVector& other) : size_(other.size_) {
    chunks_.reserve(other.chunks_.size());
    for (const std::vector<T>& chunk : other.chunks_) {
      add_chunk();
      chunks_.back().insert(chunks_.back().end(), chunk.begin(), chunk.end());
    }
  }
  ChunkedVector(ChunkedVector&& other) noexcept
      : chunks_(std::move(other.chunks_)), size_(std::exchange(other.size_, 0)) {}
  ChunkedVector& operator=(ChunkedVector other) noexcept {
    chunks_ = std::move(other.chunks_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~ChunkedVector() = default;

  size_t size() const { return size_; }
  T& operator[](size_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const T& operator[](size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  T& back() { return chunks_.back().back(); }

  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ % kChunk == 0) add_chunk();
    ++size_;
    return chunks_.back().emplace_back(std::forward<Args>(args)...);
  }
  void push_back(T value) { emplace_back(std::move(value)); }

 private:
  static constexpr size_t kChunk = 64;

  // Chunks are reserved whole: none ever moves its entries.
  void add_chunk() { chunks_.emplace_back().reserve(kChunk); }

  std::vector<std::vector<T>> chunks_;
  size_t size_ = 0;
};

}  // namespace spmd
