/// Any name of a field, so that a reader sees also those that it doesn't know.
package struct AnyKey: CodingKey {
  /// The name.
  package let stringValue: String

  /// None: fields have names.
  package var intValue: Int? { nil }

  /// Takes a name.
  package init(stringValue: String) { self.stringValue = stringValue }

  /// Gives nil.
  package init?(intValue: Int) { nil }
}
