package import Rankings
import Sourcing

/// Answers about one work.
package enum WorkAnswers {
    /// The full record in `/ajax/illust/<id>`.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - work: The work asked for.
    /// - Returns: The record; what is not told is nil or empty.
    /// - Throws: `.unreadable` for the record of another work or none.
    package static func details(_ body: JSON, of work: WorkID) throws(SourceError) -> WorkDetails {
        guard let told = WorkDecoding.full(body), told.id == work else {
            throw .unreadable("pixiv's record of work \(work.rawValue) makes no sense; pixiv may have changed it.")
        }
        return WorkDetails(
            work: told, caption: body["description"].text.map { PlainText.fromHTML($0) } ?? "",
            tags: body["tags"]["tags"].elements.lazy.compactMap(tag).prefix(PixivLimits.tags).map { $0 },
            created: body["createDate"].text.flatMap { Timestamp.seconds($0) },
            bookmarks: body["bookmarkCount"].count, comments: body["commentCount"].count,
            restriction: restriction(body["xRestrict"].number(in: 0...2) ?? 0),
            series: body["seriesNavData"]["title"].words)
    }

    /// The service's `xRestrict` as a word.
    private static func restriction(_ number: Int64) -> String {
        switch number {
        case 0: "all"
        case 1: "r18"
        default: "r18g"
        }
    }

    private static func tag(_ told: JSON) -> WorkDetails.Tag? {
        guard let name = told["tag"].words else { return nil }
        let translations = told["translation"]
        let translation = translations["en"].words ?? translations.members.lazy.compactMap(\.value.words).first
        return WorkDetails.Tag(name: name, translation: translation, romaji: told["romaji"].words)
    }

    /// The frames in `/ajax/illust/<id>/ugoira_meta`; those that make no sense are left out.
    ///
    /// - Throws: `.unreadable` if there is no frame, more than any animation has, or no archive of this work.
    package static func animation(_ body: JSON, of work: WorkID) throws(SourceError) -> AnimationRecord {
        let archives = ["originalSrc", "src"].lazy.compactMap { body[$0].text.flatMap { ArchivePath(url: $0) } }
        guard let archive = archives.first(where: { $0.work == work }) else {
            throw .unreadable("pixiv tells no usable address of the frames of work \(work.rawValue).")
        }
        guard body["frames"].elements.count <= PixivLimits.frames else {
            throw .unreadable("pixiv tells more than \(PixivLimits.frames) frames of work \(work.rawValue).")
        }
        let frames = body["frames"].elements.compactMap { frame -> AnimationRecord.Frame? in
            guard let file = frame["file"].text, isFrameName(file),
                let delay = frame["delay"].number(in: 0...longestDelay)
            else { return nil }
            return AnimationRecord.Frame(file: file, delay: Int(delay))
        }
        if frames.isEmpty { throw .unreadable("pixiv tells no frames of work \(work.rawValue).") }
        return AnimationRecord(archive: archive.reference, frames: frames)
    }

    /// Longest time that a frame is shown, in milliseconds; more is a slip.
    private static let longestDelay: Int64 = 600_000

    /// `000000.jpg`: six digits, as in every archive seen.
    private static func isFrameName(_ name: String) -> Bool {
        name.utf8.count == 10 && name.hasSuffix(".jpg") && name.utf8.prefix(6).allSatisfy(PathParts.isDigit)
    }
}
