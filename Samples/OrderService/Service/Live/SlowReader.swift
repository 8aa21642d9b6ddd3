/// The client of a stream has not read it for so long that messages would be lost.
struct SlowReader: Error, CustomStringConvertible {
  /// How many messages wait for it.
  var limit: Int

  var description: String {
    "\(limit) messages wait to be read: the stream ends here. Open it again to continue."
  }
}
