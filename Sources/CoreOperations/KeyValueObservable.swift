/// Objects whose overridden properties report their changes, as key-value observing does.
public protocol KeyValueObservable: AnyObject {}

extension Operation: KeyValueObservable {
  /// Announces that a property of the operation is about to change.
  ///
  /// - Parameter key: `isExecuting`, `isFinished`, `isReady` or any other.
  public func willChangeValue(forKey key: String) {}

  /// Reports that a property of the operation has changed.
  ///
  /// Subclasses that keep their own `isFinished` or `isReady` call this after it changed: the end and
  /// the readiness of such an operation are found by looking at these properties now. Reporting the
  /// end early or twice does no harm.
  ///
  /// - Parameter key: `isExecuting`, `isFinished`, `isReady` or any other.
  public func didChangeValue(forKey key: String) {
    switch key {
    case "isFinished", "finished": lookForFinish()
    case "isReady", "ready": lookForReadiness()
    default: break
    }
  }

  /// Has a parked operation asked again whether it is ready.
  private func lookForReadiness() {
    guard unsafe layer == nil else { return }
    links.withLock { $0.scheduler }?.reoffer(self, afterReview: false)
  }

  fileprivate func lookAgain() {
    lookForFinish()
    lookForReadiness()
  }
}

extension OperationQueue: KeyValueObservable {}

extension KeyValueObservable {
  /// Announces that a property is about to change.
  public func willChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {}

  /// Reports that a property has changed.
  ///
  /// A key path to an override differs from one to what it overrides, so the operation is simply
  /// looked at again, whichever it is.
  public func didChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {
    (self as? Operation)?.lookAgain()
  }
}
