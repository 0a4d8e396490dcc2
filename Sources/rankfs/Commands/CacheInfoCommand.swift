/// `rankfs cache info`: what is stored, without a mount.
enum CacheInfoCommand {
    static func run(_ request: MountRequest, settings: Settings, home: Home) throws(ProgramError) {
        let place = try CachePlace(settings, source: request.source, home: home)
        Output.print("cache directory  \(LogText.escaped(place.directory))")
    }
}
