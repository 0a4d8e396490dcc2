import Foundation
import Testing

@testable import Media

/// What programs of others make of the Matroska files.
@Suite struct PlayerTests {
    private let film = Film(width: 96, height: 64, side: 20)

    private func mkv(_ frames: [[UInt8]], _ delays: [Int]) throws -> [UInt8] {
        let layout = try Matroska.Layout(
            width: 96, height: 64, frames: zip(frames, delays).map { (Int64($0.count), $1) }, title: "動く絵")
        return layout.layout.flatMap { piece -> [UInt8] in
            switch piece {
            case .literal(let bytes): bytes
            case .frame(let index, _): frames[index]
            }
        }
    }

    private struct Answer: Decodable {
        struct Packet: Decodable {
            let pts_time: String
            let duration_time: String
            let flags: String
        }
        struct Stream: Decodable {
            let codec_name: String
            let width: Int
            let height: Int
            let nb_read_frames: String
            let r_frame_rate: String
        }
        struct Format: Decodable {
            let format_name: String
            let duration: String
            let tags: [String: String]
        }
        let packets: [Packet]
        let streams: [Stream]
        let format: Format
    }

    private func probe(_ path: String) throws -> Answer {
        let text = try Tool.run(
            "ffprobe", "-v", "error", "-count_frames", "-show_packets", "-show_streams", "-show_format", "-of", "json",
            path)
        return try JSONDecoder().decode(Answer.self, from: Data(text.utf8))
    }

    /// Every frame's delay, more than one cluster, a frame longer than a cluster, delays that are mended.
    @Test(arguments: [
        [70], [70, 70, 70], [40, 6000, 30, 0, 250], Array(repeating: 333, count: 40), [12_000, 1, 700_000, 20],
    ])
    func playersSeeEveryFrameWithItsDelay(delays: [Int]) throws {
        let workplace = try Workplace()
        let frames = try delays.indices.map(film.jpeg)
        let answer = try probe(workplace.write(try mkv(frames, delays), "x.mkv"))
        let shown = delays.map(FrameLimits.shown)
        #expect(answer.format.format_name.hasPrefix("matroska"))
        #expect(answer.format.tags["title"] == "動く絵")
        #expect(answer.streams.map(\.codec_name) == ["mjpeg"])
        #expect(answer.streams.map(\.width) == [96])
        #expect(answer.streams.map(\.height) == [64])
        #expect(answer.streams.map(\.nb_read_frames) == ["\(delays.count)"])
        #expect(answer.packets.map { milliseconds($0.duration_time) } == shown)
        let begins = shown.indices.map { shown[..<$0].reduce(0, +) }
        #expect(answer.packets.map { milliseconds($0.pts_time) } == begins)
        #expect(answer.packets.allSatisfy { $0.flags.hasPrefix("K") })
        #expect(milliseconds(answer.format.duration) == shown.reduce(0, +))
    }

    @Test func theFramesAreTheSameBytes() throws {
        let workplace = try Workplace()
        let frames = try (0..<5).map(film.jpeg)
        let path = try workplace.write(try mkv(frames, [40, 50, 6000, 70, 80]), "x.mkv")
        try Tool.run(
            "ffmpeg", "-v", "error", "-i", path, "-f", "image2", "-c", "copy", "-fps_mode", "passthrough",
            workplace.path("%d.jpg"))
        for (index, frame) in frames.enumerated() { #expect(try workplace.read("\(index + 1).jpg") == frame) }
    }

    /// The cues lead to where they should: what is asked for is the first packet that comes.
    @Test func playersSeek() throws {
        let workplace = try Workplace()
        let frames = Array(repeating: try film.jpeg(0), count: 100)
        let path = try workplace.write(try mkv(frames, Array(repeating: 250, count: 100)), "x.mkv")
        let text = try Tool.run(
            "ffprobe", "-v", "error", "-read_intervals", "15%+#1", "-show_entries", "packet=pts_time", "-of", "csv=p=0",
            path)
        #expect(text.split(separator: "\n").map { milliseconds(String($0)) } == [15_000])
    }

    private func milliseconds(_ seconds: String) -> Int {
        Int((Double(seconds.filter { $0 != "," }) ?? -1) * 1000 + 0.5)
    }
}
