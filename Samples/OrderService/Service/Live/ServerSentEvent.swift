import NIOCore

/// One message of a stream of server-sent events.
///
/// The format: *Server-sent events*, a chapter of the HTML standard. A line break in the data begins
/// another `data` line, so that nothing in it can be read as a field or as the end. Line breaks are
/// those of the standard: U+2028, which JSON may have in its strings, is none.
struct ServerSentEvent: Sendable {
  /// What kind of message it is.
  var event: String
  /// What it says: one line of JSON.
  var data: String
  /// What a client says that comes back after it: `Last-Event-ID`.
  var id: String?

  /// A comment, which readers pass over.
  static let heartbeat = ByteBuffer(string: ":\n\n")

  /// The bytes of the message.
  var buffer: ByteBuffer {
    var text = ""
    if let id { text += "id: \(id)\n" }
    text += "event: \(event)\n"
    let lines = data.split(omittingEmptySubsequences: false) { ["\n", "\r", "\r\n"].contains($0) }
    for line in lines { text += "data: \(line)\n" }
    return ByteBuffer(string: text + "\n")
  }
}
