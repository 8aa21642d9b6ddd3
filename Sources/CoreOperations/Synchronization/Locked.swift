public import Synchronization

/// Carries a value across a `sending` boundary; ``Locked`` is what makes that safe.
@usableFromInline
@frozen
package struct LockedBox<Value>: @unchecked Sendable {
  // Sendable: only ever inside a `Locked`, which hands it to one thread at a time.
  @usableFromInline var value: Value
  @inlinable
  init(_ value: consuming Value) { self.value = value }
}

/// The same for what comes out of a lock; moved and never copied, however large it is.
@usableFromInline
@frozen
struct LockedResult<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  // Sendable: made with the lock held, for the one who holds it.
  @usableFromInline let value: Value
  @inlinable
  init(_ value: consuming Value) { self.value = value }
  @inlinable
  consuming func take() -> Value { value }
}

#if !SANITIZE_THREAD
/// A lock beside what it guards, for objects that there are many of.
///
/// A ``Locked`` is destroyed by way of its type's metadata, which cost an empty block 250
/// instructions, and aligns its lock like its value. The owner of a lock says what it guards, and
/// reaches that through one method.
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

/// A value that can only be reached with its lock held.
///
/// Not recursive, on purpose: locking again on the same thread traps and so finds re-entrancy. The
/// rule of the house is *decide under the lock, act after it*: no user code in `withLock`.
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
/// The same over a pthread mutex: ThreadSanitizer reports false races through `Mutex` on Linux.
package struct Lock: ~Copyable, Sendable {
  private let mutex = PthreadMutex()

  package init() {}

  package borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
    mutex.withLock(body)
  }
}

/// The same over a pthread mutex.
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

/// A closure that is the value of a ``Locked``, or of another generic place that is changed in
/// place.
///
/// Generic code gets a bare closure inside a thunk. What it writes back is inside another one, also
/// if it has only read the closure: each time its lock was taken, a closure became two calls
/// deeper.
package struct StoredClosure<Closure: Sendable>: Sendable {
  package let call: Closure

  package init(_ closure: Closure) { call = closure }
}

/// A closure that can be taken out once: to be called, or to be released without a call.
package final class RemovableClosure<Closure: Sendable>: Sendable {
  private let closure: Locked<StoredClosure<Closure>?>

  package init(_ closure: Closure) { self.closure = Locked(StoredClosure(closure)) }

  /// Whether the closure was taken out.
  var isTaken: Bool { closure.withLock { $0 == nil } }

  /// Takes the closure out; nil if that was done before.
  package func take() -> StoredClosure<Closure>? { closure.withLock { $0.take() } }
}
