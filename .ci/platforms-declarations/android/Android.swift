// swift-format-ignore-file
// The overlay of bionic's headers.
@_exported import SwiftAndroid

public var errno: Int32 {
  get { __errno().pointee }
  set { __errno().pointee = newValue }
}
