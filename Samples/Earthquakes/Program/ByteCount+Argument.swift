public import ArgumentParser
public import EarthquakeWorkflow

extension ByteCount: ExpressibleByArgument {
  /// Reads what stands in the command line.
  public init?(argument: String) { self.init(argument) }

  /// The text that help shows, written as in the command line.
  public var defaultValueDescription: String { description.filter { $0 != " " } }
}
