extension String {
  /// The text as a part of a sentence that goes on, or has a full stop of its own.
  package var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
