package org.rdmapanama.samples.learn;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.rdmapanama.samples.figures.Colour;
import org.rdmapanama.samples.figures.Figure;
import org.rdmapanama.samples.figures.Svg;
import org.rdmapanama.samples.figures.Svg.Anchor;
import org.rdmapanama.samples.figures.Svg.Face;
import org.rdmapanama.samples.figures.Svg.Stroke;

/**
 * Draws packets as arrows between the ends' lines, from the first packet down. Ends stand beside each other if they exchange
 * packets, but not more than three of them: others follow below. The packets of an end are in their order everywhere.
 */
final class PacketPicture implements Figure {
    /** No picture has more packets; it says how many are left out. */
    private static final int MOST = 60;

    private static final int MOST_ENDS = 3;

    /** So narrow that two ends fit on the screen of a phone. */
    private static final double TEXT = Svg.widthOf("m".repeat(36));

    private static final double GAP = TEXT + 24;
    private static final double MARGIN = 28;
    private static final double LINE = 15;
    private static final double HEAD = 24;
    private static final double SPACE = 14;

    /** What a rule between two connections takes. */
    private static final double RULE = 22;

    private final List<PacketArrow> arrows;
    private final List<PacketArrow> left;
    private final List<Group> groups = new ArrayList<>();

    /** Ends beside each other, and packets between them. */
    private record Group(Set<String> ends, List<PacketArrow> arrows) {}

    PacketPicture(List<PacketArrow> arrows) {
        this.arrows = arrows.subList(0, Math.min(arrows.size(), MOST));
        left = arrows.subList(this.arrows.size(), arrows.size());
        for (PacketArrow each : this.arrows) {
            add(each);
        }
    }

    /** Puts a packet to the last ones of its ends if there is room for both of them, and otherwise below all. */
    private void add(PacketArrow arrow) {
        Set<String> ends = new LinkedHashSet<>(List.of(arrow.left(), arrow.right()));
        Group last = null;
        for (Group each : groups) {
            if (!Collections.disjoint(each.ends, ends)) {
                last = each;
            }
        }
        if (last != null) {
            Set<String> all = new LinkedHashSet<>(last.ends);
            all.addAll(ends);
            if (all.size() <= MOST_ENDS) {
                last.ends.addAll(ends);
                last.arrows.add(arrow);
                return;
            }
        }
        groups.add(new Group(ends, new ArrayList<>(List.of(arrow))));
    }

    @Override
    public Svg draw() {
        int most = groups.stream().mapToInt(each -> each.ends.size()).max().orElse(2);
        double width = 2 * MARGIN + (most - 1) * GAP;
        double legend =
                EnumSet.copyOf(arrows.stream().map(PacketArrow::kind).toList()).size() * LINE;
        double height = MARGIN / 2
                + groups.stream().mapToDouble(PacketPicture::height).sum()
                + legend
                + (left.isEmpty() ? 0 : LINE)
                + MARGIN / 2;
        String ends = groups.stream().map(each -> String.join(", ", each.ends)).collect(Collectors.joining("; "));
        Svg svg = new Svg(width, height, "Packets between " + ends, description());
        double top = MARGIN / 2;
        for (Group group : groups) {
            draw(svg, group, top);
            top += height(group);
        }
        if (!left.isEmpty()) {
            String rest = "and " + left.size() + (left.size() == 1 ? " more packet" : " more packets");
            svg.text(MARGIN, top + LINE - 3, Anchor.START, Colour.MUTED, Face.PLAIN, rest);
            top += LINE;
        }
        legend(svg, top);
        return svg;
    }

    private String description() {
        return arrows.stream()
                .map(each -> (each.further() ? PacketArrow.NEW_CONNECTION + ". " : "") + each.from() + " to "
                        + each.to() + ": " + each.operation() + ", " + each.details() + ".")
                .collect(Collectors.joining(" "));
    }

    private static double height(Group group) {
        return HEAD + group.arrows.stream().mapToDouble(PacketPicture::height).sum() + 2 * SPACE;
    }

    private static double height(PacketArrow arrow) {
        return (1 + lines(arrow.details()).size()) * LINE + SPACE + (arrow.further() ? RULE : 0);
    }

    private static void draw(Svg svg, Group group, double top) {
        List<String> ends = List.copyOf(group.ends);
        double bottom = top + height(group) - SPACE;
        for (int i = 0; i < ends.size(); i++) {
            double x = MARGIN + i * GAP;
            double half = Math.max(14, Svg.widthOf(ends.get(i)) / 2 + 4);
            svg.line(x, top + HEAD, x, bottom, Colour.MUTED, Stroke.SOLID);
            svg.box(x - half, top, 2 * half, HEAD, 4, Colour.BOX, Colour.MUTED);
            svg.text(x, top + HEAD - 8, Anchor.MIDDLE, Colour.INK, Face.BOLD, ends.get(i));
        }
        double y = top + HEAD;
        for (PacketArrow each : group.arrows) {
            if (each.further()) {
                rule(svg, ends.indexOf(each.left()), ends.indexOf(each.right()), y + RULE);
            }
            y += height(each);
            draw(svg, each, ends.indexOf(each.from()), ends.indexOf(each.to()), y);
        }
    }

    /** Says that another connection of these ends begins. */
    private static void rule(Svg svg, int left, int right, double y) {
        double start = MARGIN + Math.min(left, right) * GAP;
        double middle = start + GAP / 2;
        double half = Svg.widthOf(PacketArrow.NEW_CONNECTION) / 2 + 6;
        svg.line(start, y - 4, middle - half, y - 4, Colour.MUTED, Stroke.DOTTED);
        svg.line(middle + half, y - 4, start + GAP, y - 4, Colour.MUTED, Stroke.DOTTED);
        svg.text(middle, y, Anchor.MIDDLE, Colour.MUTED, Face.PLAIN, PacketArrow.NEW_CONNECTION);
    }

    /** The text stands beside the sender, so that no line of another end crosses it. */
    private static void draw(Svg svg, PacketArrow arrow, int from, int to, double y) {
        int direction = Integer.signum(to - from);
        double start = MARGIN + from * GAP + direction;
        double end = MARGIN + to * GAP - direction;
        svg.arrow(start, y, end, y, colour(arrow.kind()), stroke(arrow.kind()));
        List<String> details = lines(arrow.details());
        double x = MARGIN + (from + direction / 2.0) * GAP;
        double line = y - 6 - details.size() * LINE;
        svg.text(x, line, Anchor.MIDDLE, colour(arrow.kind()), Face.MONO_BOLD, arrow.operation());
        for (String each : details) {
            line += LINE;
            svg.text(x, line, Anchor.MIDDLE, Colour.INK, Face.MONO, each);
        }
    }

    private void legend(Svg svg, double top) {
        double y = top;
        for (PacketArrow.Kind kind : PacketArrow.Kind.values()) {
            if (arrows.stream().anyMatch(each -> each.kind() == kind)) {
                svg.arrow(MARGIN, y + LINE / 2, MARGIN + 40, y + LINE / 2, colour(kind), stroke(kind));
                svg.text(MARGIN + 50, y + LINE / 2 + 4, Anchor.START, Colour.MUTED, Face.PLAIN, kind.title);
                y += LINE;
            }
        }
    }

    private static Colour colour(PacketArrow.Kind kind) {
        return switch (kind) {
            case REQUEST -> Colour.BLUE;
            case ANSWER -> Colour.GREEN;
            case REFUSAL -> Colour.RED;
            case MANAGER -> Colour.VIOLET;
        };
    }

    /** For readers who do not see the colours. */
    private static Stroke stroke(PacketArrow.Kind kind) {
        return switch (kind) {
            case REQUEST, ANSWER -> Stroke.SOLID;
            case REFUSAL -> Stroke.DASHED;
            case MANAGER -> Stroke.DOTTED;
        };
    }

    /** Divides details at their commas, or else at spaces, into lines that fit between two ends. */
    private static List<String> lines(String details) {
        List<String> pieces = new ArrayList<>();
        for (String part : details.split("(?<=,) ", -1)) {
            pieces.addAll(Svg.widthOf(part) > TEXT ? List.of(part.split(" ", -1)) : List.of(part));
        }
        return Svg.lines(pieces, TEXT);
    }
}
