import AdvancedOperations

extension OperationOutcome {
  /// The outcome with errors that say the same without secrets, for pictures.
  func masked(by secrets: SecretMask) -> OperationOutcome {
    if secrets.isEmpty { return self }
    switch self {
    case .failed(let failure): return .failed(failure.masked(by: secrets))
    case .cancelled(let failure): return .cancelled(failure.masked(by: secrets))
    case .skipped(let reason): return .skipped(reason: secrets.masked(reason))
    default: return self
    }
  }
}

extension OperationFailure {
  fileprivate func masked(by secrets: SecretMask) -> OperationFailure {
    OperationFailure(
      elements: elements.map { element in
        Element(origin: element.origin, error: MaskedError(secrets.masked("\(element.error)")))
      }
    )
  }
}

/// What an error says, without secrets.
private struct MaskedError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
