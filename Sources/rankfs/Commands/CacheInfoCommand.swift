import Glibc
import ImageCache

/// `rankfs cache info`: what is stored, without a mount.
enum CacheInfoCommand {
    static func run(_ request: MountRequest, settings: Settings, home: Home) throws(ProgramError) {
        let place = try CachePlace(settings, source: request.source, home: home)
        let shown = LogText.escaped(place.directory)
        guard unsafe access(place.directory, F_OK) == 0 else {
            throw ProgramError(
                .unavailable, "nothing is stored: \(shown) does not exist; name another one with -o cache_dir=.")
        }
        do throws(ImageCacheError) {
            let found = try ImageCache.inspect(directory: place.directory)
            Output.print(text(of: found, directory: shown, budget: settings.cacheSize))
        } catch {
            if case .unusable(let sentence) = error { throw ProgramError(.unavailable, sentence) }
            throw ProgramError(.unavailable, "\(shown) cannot be read: \(error).")
        }
    }

    /// What was found, for people.
    static func text(of found: CacheInspection, directory: String, budget: Int64) -> String {
        let marks = found.missingMarks.map { LogText.escaped($0) }.joined(separator: ", ")
        return [
            "directory  \(directory)",
            "pictures   \(found.pictures), \(ValueParsers.sizeText(found.bytes)) of \(ValueParsers.sizeText(budget))",
            "partial    \(found.partialPictures), \(ValueParsers.sizeText(found.partialBytes))",
            "backups    " + (marks.isEmpty ? "every mark that keeps them away is set" : "missing marks: \(marks)"),
        ].joined(separator: "\n")
    }
}
