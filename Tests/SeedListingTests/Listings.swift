import Testing

/// The listings of the documents 003 and 004, run and compared with what their text says.
///
/// One at a time: what they print and sleep goes to one stage.
@Suite(.staged, .serialized) enum Listings {}

/// Cuts off which thread it was, which no text can say.
func withoutThreads(_ lines: some Sequence<String>) -> [String] {
  lines.map { $0.replacing(#/ on <Thread 0x[0-9a-f]+>$/#, with: " on <Thread 0x...>") }
}

/// The threads that lines name.
func threads(in lines: some Sequence<String>) -> Set<Substring> {
  Set(lines.compactMap { $0.firstMatch(of: #/<Thread 0x[0-9a-f]+>$/#)?.output })
}
