import CoreOperations

/// How an override reports its changes.
enum Reporting: CaseIterable, Sendable {
  case strings, oldStrings, keyPaths
}

/// Keeps running after `start()`, with its own `isExecuting` and `isFinished`.
class SelfKept: Operation, @unchecked Sendable {
  private struct State {
    var isExecuting = false
    var isFinished = false
  }

  private let own = Locked(State())
  private let reporting: Reporting
  private let body: @Sendable (SelfKept) -> Void
  let starts = Tally()

  init(_ reporting: Reporting = .strings, body: @escaping @Sendable (SelfKept) -> Void = { _ in }) {
    self.reporting = reporting
    self.body = body
    super.init()
  }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { own.withLock { $0.isExecuting } }
  override var isFinished: Bool { own.withLock { $0.isFinished } }

  override func start() {
    starts.add()
    if isCancelled {
      end()
      return
    }
    change { $0.isExecuting = true }
    body(self)
  }

  func end() {
    change { state in
      state.isExecuting = false
      state.isFinished = true
    }
  }

  private func change(_ body: (inout State) -> Void) {
    switch reporting {
    case .strings:
      willChangeValue(forKey: "isExecuting")
      willChangeValue(forKey: "isFinished")
      own.withLock { body(&$0) }
      didChangeValue(forKey: "isExecuting")
      didChangeValue(forKey: "isFinished")
    case .oldStrings:
      willChangeValue(forKey: "finished")
      own.withLock { body(&$0) }
      didChangeValue(forKey: "finished")
    case .keyPaths:
      willChangeValue(for: \.isExecuting)
      willChangeValue(for: \.isFinished)
      own.withLock { body(&$0) }
      didChangeValue(for: \.isExecuting)
      didChangeValue(for: \.isFinished)
    }
  }
}

/// Reports its end in `cancel()`.
final class EndsInCancel: SelfKept, @unchecked Sendable {
  override func cancel() {
    super.cancel()
    end()
  }
}

/// Is ready when a switch says so as well.
final class Switched: Operation, @unchecked Sendable {
  private let isOn: Locked<Bool>
  private let asksSuper: Bool
  private let body: @Sendable () -> Void
  let asked = Tally()

  init(isOn: Bool = false, asksSuper: Bool = true, _ body: @escaping @Sendable () -> Void) {
    self.isOn = Locked(isOn)
    self.asksSuper = asksSuper
    self.body = body
    super.init()
  }

  override var isReady: Bool {
    asked.add()
    return isOn.withLock { $0 } && (!asksSuper || super.isReady)
  }

  override func main() { body() }

  func turnOn() {
    willChangeValue(forKey: "isReady")
    isOn.withLock { $0 = true }
    didChangeValue(forKey: "isReady")
  }
}
