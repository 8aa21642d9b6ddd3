public import Synchronization

/// Carries a value across a `sending` boundary, which is safe because of ``Locked``.
@usableFromInline
@frozen
package struct LockedBox<Value>: @unchecked Sendable {
  // Sendable: the box is always in a `Locked`, which passes it to one thread at a time.
  @usableFromInline var value: Value
  @inlinable
  init(_ value: consuming Value) { self.value = value }
}

/// A container that carries a result out of a lock.
///
/// The result is moved and never copied, regardless of its size.
@usableFromInline
@frozen
struct LockedResult<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  // Sendable: the result is created with the lock held, for the thread that holds the lock.
  @usableFromInline let value: Value
  @inlinable
  init(_ value: consuming Value) { self.value = value }
  @inlinable
  consuming func take() -> Value { value }
}

#if !SANITIZE_THREAD
/// A lock next to the value that it guards, for types with many instances.
///
/// Destroying a ``Locked`` uses its type's metadata, which cost an empty block 250 instructions, and the lock
/// is aligned like its value. The owner of a `Lock` documents the guarded properties, and accesses them
/// through one method.
@usableFromInline
package struct Lock: ~Copyable, Sendable {
  @usableFromInline let mutex = Mutex<Void>(())

  @inlinable
  package init() {}

  /// Runs `body` with the lock held and returns its result.
  @inlinable
  package borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
    #if DEBUG
    if Preemption.isArmed {
      Preemption.lockWanted()
      defer { Preemption.lockGivenBack() }
      return mutex.withLock { _ in LockedResult(body()) }.take()
    }
    #endif
    return mutex.withLock { _ in LockedResult(body()) }.take()
  }
}

/// A value that can be accessed only with its lock held.
///
/// The lock isn't recursive, on purpose: locking it again on the same thread traps, which finds re-entrancy.
/// The rule of this project is *decide under the lock, act after it*: no user code runs in `withLock`.
@usableFromInline
package struct Locked<Value>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<LockedBox<Value>>

  /// Creates the lock around its value.
  @inlinable
  package init(_ value: consuming sending Value) { mutex = Mutex(LockedBox(value)) }

  /// Runs `body` with exclusive access to the value and returns its result.
  @inlinable
  package borrowing func withLock<Result: ~Copyable>(
    _ body: (inout Value) -> Result
  ) -> Result {
    #if DEBUG
    if Preemption.isArmed {
      Preemption.lockWanted()
      defer { Preemption.lockGivenBack() }
      return mutex.withLock { LockedResult(body(&$0.value)) }.take()
    }
    #endif
    return mutex.withLock { LockedResult(body(&$0.value)) }.take()
  }
}
#else
/// A ``Lock`` with a pthread mutex, because ThreadSanitizer reports false races through `Mutex` on Linux.
package struct Lock: ~Copyable, Sendable {
  private let mutex = PthreadMutex()

  package init() {}

  package borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
    mutex.withLock(body)
  }
}

/// A ``Locked`` with a pthread mutex.
package struct Locked<Value>: ~Copyable, Sendable {
  private let locked: PthreadLocked<Value>

  package init(_ value: sending Value) { locked = PthreadLocked(value) }

  package borrowing func withLock<Result: ~Copyable>(
    _ body: (inout Value) -> Result
  ) -> Result {
    locked.withLock(body)
  }
}
#endif

/// A closure that is stored in a ``Locked``, or in another generic property that is changed in place.
///
/// Generic code receives a bare closure in a thunk. When generic code writes the closure back, it wraps it in
/// another thunk, even if it has only read the closure. So each access to the lock made a closure two calls
/// deeper.
package struct StoredClosure<Closure: Sendable>: Sendable {
  package let call: Closure

  package init(_ closure: Closure) { call = closure }
}

/// A closure that can be taken out once, to be called, or to be released without a call.
package final class RemovableClosure<Closure: Sendable>: Sendable {
  private let closure: Locked<StoredClosure<Closure>?>

  package init(_ closure: Closure) { self.closure = Locked(StoredClosure(closure)) }

  /// A Boolean value that indicates whether the closure was taken out.
  var isTaken: Bool { closure.withLock { $0 == nil } }

  /// Takes the closure out; returns nil if that was done before.
  package func take() -> StoredClosure<Closure>? { closure.withLock { $0.take() } }
}

/// A number of events of which the last one has an effect.
package final class EventCountdown: Sendable {
  private let left: Locked<Int>

  package init(_ count: Int) { left = Locked(count) }

  /// Counts an event; returns whether it is the last one.
  package func isLast() -> Bool {
    left.withLock { left in
      left -= 1
      return left == 0
    }
  }
}
