package import HTTPTypes

extension HTTPField.Name {
  /// The key of a request; no constant of the library, as it is in no standard yet.
  package static let idempotencyKey: HTTPField.Name = {
    guard let name = HTTPField.Name("Idempotency-Key") else {
      preconditionFailure("“Idempotency-Key” is a name that a header can have.")
    }
    return name
  }()
}
