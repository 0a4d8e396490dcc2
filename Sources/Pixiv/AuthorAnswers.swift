package import Rankings

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

    /// The author in `/ajax/user/<id>` or in a list of followed ones; nil without a number.
    package static func author(_ body: JSON) -> Author? {
        guard let id = body["userId"].number, id > 0 else { return nil }
        return Author(id: UserID(rawValue: id), name: (body["name"].text ?? body["userName"].text) ?? "")
    }

    /// The authors in `/ajax/user/<id>/following`, each with a few works.
    package static func following(_ body: JSON) -> (authors: [(author: Author, works: WorkList)], unreadable: Int) {
        let users = body["users"].elements
        let authors = users.compactMap { user in
            author(user).map { (author: $0, works: WorkList(entries: user["illusts"].elements)) }
        }
        return (authors, users.count - authors.count)
    }
}

/// Whose works are meant.
package struct Author: Hashable, Sendable {
    package let id: UserID
    package let name: String
}
