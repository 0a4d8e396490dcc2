package import Rankings
import Sourcing

/// Answers about authors and the pages of their works.
package enum AuthorAnswers {
    /// The numbers in `/ajax/user/<id>/profile/all`: illustrations and manga, newest first.
    ///
    /// Each is an object with the numbers as names, in no order, or `[]` if there are none.
    package static func allWorks(_ body: JSON) throws(SourceError) -> [WorkID] {
        let lists = [body["illusts"], body["manga"]]
        guard lists.contains(where: { !$0.isNull }) else {
            throw .unreadable("pixiv's list of an author's works has neither illustrations nor manga.")
        }
        let ids = Set(lists.flatMap(\.members).compactMap { Int64($0.name) }.filter { $0 > 0 })
        return ids.sorted(by: >).map { WorkID(rawValue: $0) }
    }

    /// The records in `/ajax/user/<id>/profile/illusts`, by number; works that make no sense are left out and counted.
    package static func works(_ body: JSON) -> WorkList {
        WorkList(entries: body["works"].members.map(\.value) + body["works"].elements)
    }

    /// The pages in `/ajax/illust/<id>/pages`.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - work: The work asked for.
    /// - Returns: One path of the folder `original` for each page, in page order.
    /// - Throws: `.needsSignIn` if all URLs are null, as they are for works that only signed-in users see.
    package static func originals(_ body: JSON, of work: WorkID) throws(SourceError) -> [PicturePath] {
        let urls = body.elements.map { $0["urls"]["original"] }
        guard !urls.isEmpty else { throw .unreadable("pixiv tells no pages of work \(work.rawValue).") }
        if urls.allSatisfy(\.isNull) { throw .needsSignIn }
        var paths: [PicturePath] = []
        for (page, url) in urls.enumerated() {
            guard let path = url.text.flatMap({ PicturePath(url: $0) }), path.folder == .original, path.work == work,
                (path.page ?? 0) == page
            else { throw .unreadable("pixiv tells no usable address of page \(page) of work \(work.rawValue).") }
            paths.append(path)
        }
        return paths
    }

    /// The author in a list of followed ones; nil without a number.
    package static func author(_ body: JSON) -> NamedAuthor? {
        guard let id = body["userId"].number, id > 0 else { return nil }
        return NamedAuthor(id: UserID(rawValue: id), name: body["name"].shortText ?? body["userName"].shortText ?? "")
    }

    /// The author in `/ajax/user/<id>?full=1`; without `full` there are only name and picture.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - author: The author asked for.
    /// - Returns: The profile; what is not told is nil or empty.
    /// - Throws: `.unreadable` for the record of another author or none.
    package static func profile(_ body: JSON, of author: UserID) throws(SourceError) -> AuthorProfile {
        guard let told = self.author(body), told.id == author else {
            throw .unreadable("pixiv's record of author \(author.rawValue) makes no sense; pixiv may have changed it.")
        }
        let pictures = ["imageBig", "image"].lazy.compactMap { body[$0].text.flatMap { AvatarPath(url: $0) } }
        return AuthorProfile(
            id: told.id, name: told.name, avatar: pictures.first?.reference,
            comment: body["comment"].text.map { PlainText.lines($0) } ?? "", following: body["following"].count,
            webPage: body["webpage"].words, region: body["region"]["name"].words)
    }
}
