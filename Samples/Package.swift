// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
  name: "Samples",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .executable(name: "earthquakes", targets: ["earthquakes"]),
    .executable(name: "workflow", targets: ["workflow"]),
  ],
  dependencies: [
    .package(name: "AdvancedOperations", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
    .package(url: "https://github.com/apple/swift-log", .upToNextMajor(from: "1.16.2")),
    .package(url: "https://github.com/groue/GRDB.swift", .upToNextMinor(from: "7.10.0")),
    .package(url: "https://github.com/jpsim/Yams", .upToNextMajor(from: "6.2.2")),
    .package(url: "https://github.com/apple/swift-system", .upToNextMajor(from: "1.8.1")),
    .package(url: "https://github.com/swiftlang/swift-subprocess", .upToNextMajor(from: "1.0.2")),
  ],
  targets: [
    .target(
      name: "TerminalSupport",
      path: "TerminalSupport",
      exclude: ["Tests"],
      swiftSettings: settings
    ),
    .target(
      name: "SampleTestSupport",
      path: "TestSupport",
      swiftSettings: settings
    ),
    .testTarget(
      name: "TerminalSupportTests",
      dependencies: ["TerminalSupport"],
      path: "TerminalSupport/Tests",
      swiftSettings: settings
    ),
    .target(
      name: "EarthquakeKit",
      dependencies: ["TerminalSupport", .product(name: "GRDB", package: "GRDB.swift")],
      path: "Earthquakes",
      exclude: ["Data/README.md", "Program", "Tests", "Workflow"],
      sources: ["Kit"],
      resources: [.copy("Data/notable.geojson")],
      swiftSettings: settings
    ),
    .target(
      name: "EarthquakeWorkflow",
      dependencies: [
        "EarthquakeKit",
        "TerminalSupport",
        .product(name: "AdvancedOperations", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations"),
      ],
      path: "Earthquakes/Workflow",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "earthquakes",
      dependencies: [
        "EarthquakeKit",
        "EarthquakeWorkflow",
        "TerminalSupport",
        .product(name: "AdvancedOperations", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Earthquakes/Program",
      swiftSettings: settings
    ),
    .testTarget(
      name: "EarthquakesTests",
      dependencies: [
        "SampleTestSupport",
        "EarthquakeKit",
        "EarthquakeWorkflow",
        "TerminalSupport",
        "earthquakes",
        .product(name: "AdvancedOperations", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsTesting", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Earthquakes/Tests",
      swiftSettings: settings
    ),
    .target(
      name: "WorkflowDocument",
      dependencies: ["TerminalSupport", .product(name: "Yams", package: "Yams")],
      path: "Workflow/Document",
      swiftSettings: settings
    ),
    .target(
      name: "WorkflowRunner",
      dependencies: [
        "TerminalSupport",
        "WorkflowDocument",
        .product(name: "AdvancedOperations", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Subprocess", package: "swift-subprocess"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Workflow/Runner",
      swiftSettings: settings
    ),
    .target(
      name: "WorkflowSlurm",
      dependencies: [
        "TerminalSupport",
        "WorkflowDocument",
        "WorkflowRunner",
        .product(name: "Subprocess", package: "swift-subprocess"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Workflow/Slurm",
      exclude: ["README.md"],
      swiftSettings: settings
    ),
    .target(
      name: "WorkflowWfCommons",
      dependencies: ["TerminalSupport", "WorkflowDocument"],
      path: "Workflow/WfCommons",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "workflow",
      dependencies: [
        "TerminalSupport",
        "WorkflowDocument",
        "WorkflowRunner",
        "WorkflowSlurm",
        "WorkflowWfCommons",
        .product(name: "AdvancedOperations", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Workflow/Program",
      swiftSettings: settings
    ),
    .testTarget(
      name: "WorkflowDocumentTests",
      dependencies: ["SampleTestSupport", "WorkflowDocument"],
      path: "Workflow/Tests/Document",
      swiftSettings: settings
    ),
    .testTarget(
      name: "WorkflowRunnerTests",
      dependencies: [
        "SampleTestSupport",
        "WorkflowDocument",
        "WorkflowRunner",
        .product(name: "AdvancedOperations", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsTesting", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations"),
      ],
      path: "Workflow/Tests/Runner",
      swiftSettings: settings
    ),
    .testTarget(
      name: "WorkflowSlurmTests",
      dependencies: ["TerminalSupport", "WorkflowDocument", "WorkflowRunner", "WorkflowSlurm"],
      path: "Workflow/Tests/Slurm",
      swiftSettings: settings
    ),
    .testTarget(
      name: "WorkflowWfCommonsTests",
      dependencies: ["WorkflowDocument", "WorkflowWfCommons"],
      path: "Workflow/Tests/WfCommons",
      swiftSettings: settings
    ),
    .testTarget(
      name: "WorkflowProgramTests",
      dependencies: [
        "TerminalSupport",
        "WorkflowDocument",
        "WorkflowRunner",
        "workflow",
        .product(name: "AdvancedOperations", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Workflow/Tests/Program",
      swiftSettings: settings
    ),
  ]
)
