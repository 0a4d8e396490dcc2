/// The members of the records that machines share, under names that other versions know too.
extension WorkID: JSONCoded {}
extension UserID: JSONCoded {}
extension WorkKind: JSONCoded {}

extension Work: JSONRecord {
    package static let blank = Work(NamedAuthor(id: UserID(rawValue: 0), name: ""))

    package static let members: [JSONField<Work>] = [
        .init("author", \.author), .init("authorName", \.authorName), .init("height", \.height), .init("id", \.id),
        .init("isAI", \.isAI), .init("kind", \.kind), .init("origin", \.origin), .init("pageCount", \.pageCount),
        .init("picture", \.picture), .init("ratings", \.ratings), .init("series", \.series), .init("tags", \.tags),
        .init("title", \.title), .init("uploaded", \.uploaded), .init("views", \.views), .init("width", \.width),
        .init("withheld", \.withheld),
    ]
}

extension ListedWork: JSONRecord {
    package static let blank = ListedWork(rank: nil, previousRank: nil, work: .blank)

    package static let members: [JSONField<ListedWork>] = [
        .init("previousRank", \.previousRank), .init("rank", \.rank), .init("work", \.work),
    ]
}

extension ListingPage: JSONRecord {
    package static let blank = ListingPage(entries: [])

    /// Without the day, which is that of the listing.
    package static let members: [JSONField<ListingPage>] = [
        .init("entries", \.entries), .init("further", \.further), .init("hasNext", \.hasNext),
        .init("lastPage", \.lastPage), .init("total", \.total), .init("unreadable", \.unreadable),
    ]
}

extension WorkDetails.Tag: JSONRecord {
    package static let blank = WorkDetails.Tag(name: "")

    package static let members: [JSONField<WorkDetails.Tag>] = [
        .init("name", \.name), .init("romaji", \.romaji), .init("translation", \.translation),
    ]
}

extension WorkDetails: JSONRecord {
    package static let blank = WorkDetails(work: .blank)

    package static let members: [JSONField<WorkDetails>] = [
        .init("bookmarks", \.bookmarks), .init("caption", \.caption), .init("comments", \.comments),
        .init("created", \.created), .init("more", \.more), .init("restriction", \.restriction),
        .init("series", \.series), .init("tags", \.tags), .init("work", \.work),
    ]
}

extension AnimationRecord.Frame: JSONRecord {
    package static let blank = AnimationRecord.Frame(file: "", delay: 0)

    package static let members: [JSONField<AnimationRecord.Frame>] = [.init("delay", \.delay), .init("file", \.file)]
}

extension AnimationRecord: JSONRecord {
    package static let blank = AnimationRecord(archive: "", frames: [])

    package static let members: [JSONField<AnimationRecord>] = [.init("archive", \.archive), .init("frames", \.frames)]
}

extension AuthorProfile: JSONRecord {
    package static let blank = AuthorProfile(id: UserID(rawValue: 0), name: "")

    package static let members: [JSONField<AuthorProfile>] = [
        .init("avatar", \.avatar), .init("comment", \.comment), .init("following", \.following), .init("id", \.id),
        .init("name", \.name), .init("region", \.region), .init("webPage", \.webPage),
    ]
}
