import Foundation
import Testing

/// The import table of the design: SwiftPM builds an undeclared import silently, so this is what holds the layers apart.
@Suite struct LayerTests {
    /// What a module may import besides the toolchain modules in `everywhere`: never Foundation, which is linked whole, in
    /// four megabytes of every program.
    static let allowed: [String: Set<String>] = [
        "Rankings": [],
        "System": ["CLinux", "CSQLite", "CCrypto", "CXXHash", "CZstd"],
        "HTTP": ["System", "Rankings", "CCurl"],
        "Sourcing": ["System", "Rankings", "HTTP"],
        "Pixiv": ["System", "Rankings", "HTTP", "Sourcing"],
        "Boards": ["System", "Rankings", "HTTP", "Sourcing"],
        "Catalog": ["System", "Rankings", "HTTP", "Sourcing"],
        "ImageCache": ["System", "Rankings", "HTTP", "Sourcing", "CLinux"],
        "Tier": ["System", "Rankings", "HTTP", "Sourcing", "Catalog", "ImageCache", "CExpat"],
        "Render": ["System"],
        "Media": ["Render", "System", "CTurboJPEG", "CWebP", "CPNG"],
        "Fuse": ["System", "CFuse3"],
        "RankFS": ["System", "Rankings", "HTTP", "Sourcing", "Fuse", "Catalog", "ImageCache", "Render"],
        "Origin": ["System", "Rankings", "Media", "CZlib"],
        "rankfs": [
            "Rankings", "System", "HTTP", "Sourcing", "Pixiv", "Boards", "Catalog", "ImageCache", "Tier", "Fuse",
            "Render", "RankFS", "CSystemd", "CLinux",
        ],
        "rankfs-render": ["Media", "Render", "System", "CLinux"],
        "rankfs-origin": ["Origin", "Rankings", "System"],
        "rankfs-bench": ["System", "CLinux"],
        "fuse-example": ["Fuse", "System"],
    ]

    /// Toolchain modules that any layer but `Rankings` may use.
    static let everywhere: Set<String> = ["Glibc", "Dispatch", "Synchronization"]

    @Test func everyModuleImportsOnlyWhatTheTableAllows() throws {
        for (module, path) in try Package.modules() {
            let table = try #require(Self.allowed[module], "\(path) is missing in the import table")
            let allowed = module == "Rankings" ? table.union(["Swift"]) : table.union(Self.everywhere)
            for file in try Package.swiftFiles(below: path) {
                for imported in file.imports where !allowed.contains(imported) {
                    Issue.record("\(file.path) imports \(imported), which the table does not allow \(module)")
                }
            }
        }
    }

    /// `rankfs demo` starts the embedded origin as a process of its own.
    @Test func nothingOfTheProductImportsATool() throws {
        let tools = Set(try Package.folders(below: Package.tools).map(\.name))
        #expect(tools.isSuperset(of: ["Origin", "rankfs-origin", "rankfs-bench", "fuse-example"]))
        for (module, _) in try Package.modules() where !tools.contains(module) {
            #expect(Self.allowed[module]?.isDisjoint(with: tools) == true, "\(module)")
        }
    }

    /// The process that has the session neither decodes nor draws nor serves HTTP.
    @Test func theProgramReachesNoDecoder() {
        var reached: Set<String> = []
        var rest: Set<String> = ["rankfs"]
        while let module = rest.popFirst() {
            guard reached.insert(module).inserted else { continue }
            rest.formUnion(Self.allowed[module] ?? [])
        }
        #expect(reached.isSuperset(of: ["RankFS", "Render", "CFuse3"]))
        #expect(reached.isDisjoint(with: ["Media", "Origin", "CTurboJPEG", "CWebP", "CPNG", "CZlib"]))
    }

    @Test func aCLibraryHasOneOwner() throws {
        var owners: [String: Set<String>] = [:]
        for (module, path) in try Package.modules() {
            for file in try Package.swiftFiles(below: path) {
                for imported in file.imports
                where imported.hasPrefix("C") && imported != "Catalog" && imported != "CLinux" {
                    owners[imported, default: []].insert(module)
                }
            }
        }
        #expect(!owners.isEmpty)
        for (library, modules) in owners {
            #expect(modules.count == 1, "\(library) is imported by \(modules.sorted())")
        }
    }
}
