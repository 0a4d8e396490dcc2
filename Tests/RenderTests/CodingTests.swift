import Testing

@testable import Render

/// Jobs and answers as messages, which the other side may have made up.
@Suite struct CodingTests {
    private static let film = RenderJob.film(
        frames: [.init(file: "000000.jpg", delay: 40), .init(file: "猫.jpg", delay: -1)], title: "あ", length: 1000,
        stretches: [900: [1, 2, 3], 0: []])
    static let jobs: [RenderJob] = [
        .thumbnails(preview: [0xff, 0xd8, 1], edges: [256, 128]), .thumbnails(preview: [], edges: []), film,
        .animation(.gif, frames: [.init(file: "a", delay: 5)], place: 7..<900, bound: 64 << 20),
    ]

    @Test(arguments: jobs) func jobsComeBack(job: RenderJob) {
        #expect(RenderJob(message: job.message) == job)
        // Every beginning is no job, and neither is one with something behind it.
        for count in 0..<job.message.count { #expect(RenderJob(message: Array(job.message.prefix(count))) == nil) }
        #expect(RenderJob(message: job.message + [0]) == nil)
    }

    static var answers: [(RenderAnswer, RenderJob)] {
        let layout: [FilmLayout.Piece] = [.literal([1, 2]), .frame(index: 1, range: 0..<10), .literal([3])]
        let film = Film(pieces: layout, frames: [5..<9, 20..<30], archive: 1000)
        return [
            (.files([[1], []]), jobs[0]), (.files([]), jobs[1]), (.files([[1, 2, 3]]), jobs[3]),
            (film.map { .film($0) } ?? .files([]), jobs[2]), (.needs([0..<1, 7..<1000]), jobs[2]),
        ]
            + [.archive("x"), .picture(""), .animation("ü"), .tooLarge(bound: 7), .noMemory].map {
                (.refused($0), jobs[0])
            }
    }

    @Test func answersComeBack() {
        for (answer, job) in Self.answers {
            #expect(RenderAnswer(message: answer.message, to: job) == answer)
            for count in 0..<answer.message.count {
                #expect(RenderAnswer(message: Array(answer.message.prefix(count)), to: job) == nil)
            }
            #expect(answer.message.count <= job.longestAnswer)
        }
    }

    @Test func anAnswerToAnotherJobIsNone() {
        #expect(RenderAnswer(message: RenderAnswer.files([[1]]).message, to: Self.jobs[0]) == nil)
        #expect(RenderAnswer(message: RenderAnswer.files([[1]]).message, to: Self.jobs[2]) == nil)
        #expect(RenderAnswer(message: RenderAnswer.needs([0..<1]).message, to: Self.jobs[3]) == nil)
        #expect(RenderAnswer(message: RenderAnswer.needs([0..<1001]).message, to: Self.jobs[2]) == nil)
        #expect(RenderAnswer(message: RenderAnswer.needs([3..<3]).message, to: Self.jobs[2]) == nil)
        #expect(RenderAnswer(message: RenderAnswer.needs([]).message, to: Self.jobs[2]) == nil)
    }

    @Test func aFilmLiesWithinItsArchive() {
        let pieces: [FilmLayout.Piece] = [.frame(index: 0, range: 0..<10)]
        #expect(Film(pieces: pieces, frames: [0..<10], archive: 10)?.layout.length == 10)
        #expect(Film(pieces: pieces, frames: [0..<10], archive: 9) == nil)
        #expect(Film(pieces: pieces, frames: [-1..<9], archive: 10) == nil)
        #expect(Film(pieces: pieces, frames: [0..<9], archive: 10) == nil)
        #expect(Film(pieces: [.frame(index: 1, range: 0..<10)], frames: [0..<10], archive: 10) == nil)
        #expect(Film(pieces: [.frame(index: -1, range: 0..<10)], frames: [0..<10], archive: 10) == nil)
        #expect(Film(pieces: [], frames: [], archive: 10) == nil)
        #expect(Film(pieces: pieces, frames: [0..<10], archive: .max) == nil)
        let long = [UInt8](repeating: 0, count: Film.longestLiterals + 1)
        #expect(Film(pieces: [.literal(long[...])], frames: [0..<10], archive: 10) == nil)
    }
}
