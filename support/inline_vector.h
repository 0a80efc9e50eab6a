// InlineVector: a std::vector whose first elements need no memory of their own.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <vector>

namespace spmd {

// Lists of which there are many and that are mostly short: up to `N` elements are kept in the
// object, more of them on the heap. Like std::vector, but that a move may copy elements, and that a
// std::vector converts to it and back. No more than 2^32 - 1 elements.
template <typename T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  explicit InlineVector(size_t size, T value = T{}) { assign(size, value); }
  InlineVector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <std::forward_iterator It>
  InlineVector(It first, It last) {
    assign(first, last);
  }
  InlineVector(const std::vector<T>& values) { assign(values.begin(), values.end()); }
  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

  InlineVector(const InlineVector& other) { assign(other.begin(), other.end()); }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~InlineVector() { release(); }

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* data() { return is_inline() ? inline_ : heap_; }
  const T* data() const { return is_inline() ? inline_ : heap_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    T* grown = std::allocator<T>().allocate(capacity);
    std::uninitialized_copy(begin(), end(), grown);
    release();
    heap_ = grown;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void resize(size_t size, T value = T{}) {
    reserve(size);
    if (size > size_) std::uninitialized_fill(end(), data() + size, value);
    size_ = static_cast<uint32_t>(size);
  }
  void clear() { size_ = 0; }
  void push_back(T value) {
    if (size_ == capacity_) reserve(2 * size_t{capacity_});
    std::construct_at(end(), value);
    ++size_;
  }
  template <typename... Args>
  void emplace_back(Args&&... args) {
    push_back(T{std::forward<Args>(args)...});
  }
  void pop_back() { --size_; }

  void assign(size_t size, T value) {
    clear();
    resize(size, value);
  }
  // [first, last) is not of this list.
  template <std::forward_iterator It>
  void assign(It first, It last) {
    clear();
    insert(end(), first, last);
  }
  template <std::forward_iterator It>
  T* insert(const T* at, It first, It last) {
    const auto index = at - begin();
    const auto count = static_cast<size_t>(std::distance(first, last));
    if (size_ + count > capacity_) reserve(std::max(size_ + count, 2 * size_t{capacity_}));
    std::copy_backward(begin() + index, end(), end() + count);
    std::uninitialized_copy(first, last, begin() + index);
    size_ += static_cast<uint32_t>(count);
    return begin() + index;
  }
  T* insert(const T* at, T value) { return insert(at, &value, &value + 1); }
  T* erase(const T* first, const T* last) {
    T* const kept = begin() + (first - begin());
    std::copy(last, static_cast<const T*>(end()), kept);
    size_ -= static_cast<uint32_t>(last - first);
    return kept;
  }
  T* erase(const T* at) { return erase(at, at + 1); }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }
  friend auto operator<=>(const InlineVector& a,
                          const InlineVector& b) requires std::three_way_comparable<T> {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool is_inline() const { return capacity_ == N; }

  void release() {
    if (!is_inline()) std::allocator<T>().deallocate(heap_, capacity_);
    capacity_ = N;
  }
  // This list is empty and has no memory.
  void take(InlineVector& other) {
    if (other.is_inline()) {
      std::uninitialized_copy(other.begin(), other.end(), inline_);
    } else {
      heap_ = other.heap_;
    }
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.size_ = 0;
    other.capacity_ = N;
  }

  union {
    T inline_[N];
    T* heap_;
  };
  uint32_t size_ = 0;
  uint32_t capacity_ = N;  // N: inline
};

}  // namespace spmd
