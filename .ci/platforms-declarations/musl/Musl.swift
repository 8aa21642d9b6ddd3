// swift-format-ignore-file
// The overlay of musl's headers.
@_exported import SwiftMusl

public var errno: Int32 {
  get { __errno_location().pointee }
  set { __errno_location().pointee = newValue }
}
