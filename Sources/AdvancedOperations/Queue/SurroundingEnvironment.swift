/// The environment of code that runs in a simulation and outside of any operation.
package enum SurroundingEnvironment {
  @TaskLocal package static var current: OperationEnvironment?
}

extension OperationEnvironment {
  /// The environment of the code that calls this: that of its operation, of the simulation that
  /// runs it, or a new one.
  static var ofCaller: OperationEnvironment {
    AdvancedOperation.current?.environment ?? SurroundingEnvironment.current
      ?? OperationEnvironment()
  }
}
