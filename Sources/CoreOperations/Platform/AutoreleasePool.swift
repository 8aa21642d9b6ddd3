#if canImport(ObjectiveC)
import ObjectiveC
#endif

/// The autorelease pools of Objective-C, on systems that have them.
enum AutoreleasePool {
  /// Runs a body, then releases the objects that Objective-C code has autoreleased in it.
  @inline(__always)
  static func drained(_ body: () -> Void) {
    #if canImport(ObjectiveC)
    autoreleasepool { body() }
    #else
    body()
    #endif
  }
}
