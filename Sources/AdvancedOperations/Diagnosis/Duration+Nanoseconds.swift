extension Duration {
  /// Rounded towards zero; what is too large, some centuries, is the largest number.
  var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

  /// The number of seconds, however many; not exact.
  var inSeconds: Double { self / .seconds(1) }
}
