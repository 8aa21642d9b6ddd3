import CoreOperations
package import Testing

extension Trait where Self == ConditionTrait {
  /// Enables a test only where async bodies run on the library's own thread pool: on Linux and
  /// Android.
  ///
  /// Elsewhere, bodies run on the standard library's pool, which has one thread for each processor
  /// and starts no other if one blocks. Tests without this trait pass on every system.
  ///
  /// - Parameter reason: Why the test needs the pool.
  /// - Returns: The trait.
  package static func needsThreadPool(_ reason: Comment) -> Self {
    .enabled(if: BodyExecutor.preferred != nil, reason)
  }
}
