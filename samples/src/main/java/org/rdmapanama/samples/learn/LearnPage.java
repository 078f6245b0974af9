package org.rdmapanama.samples.learn;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TableBlock;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.CustomBlock;
import org.commonmark.node.Heading;
import org.commonmark.node.HtmlBlock;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.Paragraph;
import org.commonmark.node.SoftLineBreak;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;
import org.rdmapanama.samples.figures.Colour;
import org.rdmapanama.samples.figures.Svg;

/**
 * The lessons as one page of HTML: docs/LEARN.md, with what lessons have just printed and drawn. It loads nothing and runs no
 * script. Links to other documents are text, because these are not part of the page.
 */
final class LearnPage {
    private static final String DOCUMENT = "LEARN.md";
    private static final List<Extension> EXTENSIONS = List.of(TablesExtension.create());

    /** The colours are variables of {@link Colour}. */
    private static final String STYLE = """
            :root { color-scheme: light dark }
            * { box-sizing: border-box }
            html { -webkit-text-size-adjust: 100% }
            body { margin: 0 auto; padding: 16px; max-width: 932px; background: var(--paper); color: var(--ink);
                font: 16px/1.55 system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; overflow-wrap: break-word }
            h1, h2, h3 { line-height: 1.25 }
            h2 { margin-top: 2.2em; padding-bottom: .25em; border-bottom: 1px solid var(--grid) }
            a { color: var(--blue) }
            pre, code { font-family: ui-monospace, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace }
            code { font-size: 87.5%; padding: .1em .3em; border-radius: 4px; background: var(--box) }
            pre { overflow-x: auto; padding: 12px; border: 1px solid var(--grid); border-radius: 6px; background: var(--box);
                font-size: 13px; line-height: 1.4 }
            pre code { font-size: inherit; padding: 0; background: none }
            .scrolled { overflow-x: auto }
            table { border-collapse: collapse }
            th, td { padding: 6px 10px; border: 1px solid var(--grid); text-align: left; vertical-align: top }
            figure { margin: 1.2em 0 }
            .scrolled.drawn { border: 1px solid var(--grid); border-radius: 6px }
            figcaption { font-size: 14px; margin-top: .3em }
            .hint { display: none; margin: 0 0 .3em; font-size: 14px; color: var(--muted) }
            nav { padding: 4px 16px; border: 1px solid var(--grid); border-radius: 6px }
            nav li { padding: 3px 0 }
            """;

    /** What a page as wide as the screen has on both sides of a drawing: its padding, and the borders of the frame. */
    private static final int BESIDE = 2 * (16 + 1);

    /** The widths of screens from which drawings need not be scrolled. */
    private final Set<Integer> hints = new TreeSet<>();

    /** By what the document calls it. */
    private final Map<String, Picture> pictures = new HashMap<>();

    private final String remark;

    /**
     * Creates a page without text.
     *
     * @param outputs what the lessons have printed and drawn, in their order
     * @param remark where and when that was
     */
    private LearnPage(List<LessonOutput> outputs, String remark) {
        this.remark = remark;
        for (LessonOutput output : outputs) {
            for (Picture picture : output.pictures()) {
                pictures.put(LearnDocument.PICTURES + "/" + output.file(picture), picture);
            }
        }
    }

    /**
     * Returns the page.
     *
     * @param outputs what all lessons have printed and drawn, in their order; that of {@link LearnDocument#WITH_HEADERS} has the
     *     headers of its packets
     * @param remark where and when they ran
     */
    static String of(List<LessonOutput> outputs, String remark) throws Exception {
        LessonOutput withHeaders = outputs.get(LearnDocument.WITH_HEADERS.number());
        String document = LearnDocument.fill(document(), (kind, name, now) -> switch (kind) {
            case "output" ->
                outputs.get(Integer.parseInt(name)).withoutPacketsAsText().markdown();
            case "headers" -> "```text\n" + LearnDocument.headers(withHeaders.text(), name) + "```\n";
            default -> now;
        });
        return new LearnPage(outputs, remark).html(document);
    }

    /** Returns docs/LEARN.md, as it was when this was built. */
    private static String document() throws IOException {
        try (InputStream in = LearnPage.class.getResourceAsStream(DOCUMENT)) {
            if (in == null) {
                throw new IllegalStateException(DOCUMENT + " is not in the jar");
            }
            return new String(in.readAllBytes(), UTF_8).replace("\r\n", "\n");
        }
    }

    private String html(String markdown) {
        Node document = Parser.builder().extensions(EXTENSIONS).build().parse(markdown);
        Map<Heading, String> anchors = anchors(document);
        document.accept(new Adapter());
        anchors.keySet().stream()
                .filter(heading -> heading.getLevel() == 2)
                .findFirst()
                .ifPresent(first -> first.insertBefore(block(contents(anchors))));
        String body = HtmlRenderer.builder()
                .extensions(EXTENSIONS)
                .attributeProviderFactory(context -> (node, tag, attributes) -> {
                    if (node instanceof Heading heading && anchors.containsKey(heading)) {
                        attributes.put("id", anchors.get(heading));
                    } else if (tag.equals("pre")) {
                        // So that it can be scrolled without a mouse.
                        attributes.put("tabindex", "0");
                    }
                })
                .build()
                .render(document);
        String title =
                anchors.keySet().stream().findFirst().map(LearnPage::text).orElse(DOCUMENT);
        return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                + "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
                + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                + "<title>" + Svg.escaped(title) + "</title>\n<style>\n" + Colour.variables() + STYLE + hints()
                + Svg.style()
                + "</style>\n</head>\n<body>\n"
                + body + "<footer><p>" + Svg.escaped(remark) + "</p></footer>\n</body>\n</html>\n";
    }

    /** Says above a drawing that it can be scrolled, where the screen is too narrow for it. */
    private String hint(Svg drawing) {
        int screen = (int) drawing.leastWidth() + BESIDE;
        hints.add(screen);
        return "<p class=\"hint until-" + screen + "\">Wider than the screen: scroll it to the right →</p>\n";
    }

    /** Returns the rules that show hints. */
    private String hints() {
        StringBuilder rules = new StringBuilder();
        for (int each : hints) {
            rules.append("@media (max-width: ")
                    .append(each - 1)
                    .append("px) { .until-")
                    .append(each)
                    .append(" { display: block } }\n");
        }
        return rules.toString();
    }

    /** Returns the headings in their order, with the names by which links reach them, which are those of GitHub. */
    private static Map<Heading, String> anchors(Node document) {
        Map<Heading, String> anchors = new LinkedHashMap<>();
        for (Node node = document.getFirstChild(); node != null; node = node.getNext()) {
            if (node instanceof Heading heading) {
                String name = text(heading)
                        .strip()
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-');
                String unique = name;
                for (int i = 1; anchors.containsValue(unique); i++) {
                    unique = name + "-" + i;
                }
                anchors.put(heading, unique);
            }
        }
        return anchors;
    }

    private static String contents(Map<Heading, String> anchors) {
        StringBuilder contents =
                new StringBuilder("<nav aria-label=\"Contents\">\n<ul style=\"list-style: none; padding: 0\">\n");
        anchors.forEach((heading, anchor) -> {
            if (heading.getLevel() == 2) {
                contents.append("<li><a href=\"#")
                        .append(Svg.escaped(anchor))
                        .append("\">")
                        .append(Svg.escaped(text(heading)))
                        .append("</a></li>\n");
            }
        });
        return contents.append("</ul>\n</nav>").toString();
    }

    /** Returns the words in a node. */
    private static String text(Node node) {
        StringBuilder words = new StringBuilder();
        node.accept(new AbstractVisitor() {
            @Override
            public void visit(Text text) {
                words.append(text.getLiteral());
            }

            @Override
            public void visit(Code code) {
                words.append(code.getLiteral());
            }

            @Override
            public void visit(SoftLineBreak lineBreak) {
                words.append(' ');
            }
        });
        return words.toString();
    }

    private static HtmlBlock block(String html) {
        HtmlBlock block = new HtmlBlock();
        block.setLiteral(html);
        return block;
    }

    /** Puts drawings in the place of pictures, names of documents in that of links to them, and takes away the marks. */
    private final class Adapter extends AbstractVisitor {
        private static final String COMMENT = "<!--";

        @Override
        public void visit(Paragraph paragraph) {
            if (paragraph.getFirstChild() instanceof Image image && image.getNext() == null) {
                Picture picture = pictures.get(image.getDestination());
                if (picture != null) {
                    Svg drawing = picture.figure().draw();
                    paragraph.insertBefore(block("<figure>\n" + hint(drawing)
                            + "<div class=\"scrolled drawn\" tabindex=\"0\">\n"
                            + drawing.element()
                            + "\n</div>\n<figcaption>" + Svg.escaped(text(image)) + "</figcaption>\n</figure>"));
                    paragraph.unlink();
                    return;
                }
            }
            visitChildren(paragraph);
        }

        @Override
        public void visit(Image image) {
            // A file beside the document, which is not part of the page.
            replace(image, image.getDestination());
        }

        @Override
        public void visit(Link link) {
            visitChildren(link);
            String to = link.getDestination();
            if (!to.startsWith("#") && !to.startsWith("https://")) {
                replace(link, to);
            }
        }

        /** Puts what a node contains in its place, followed by the name of a file, seen from the top of the repository. */
        private static void replace(Node node, String destination) {
            String file = destination.replaceFirst("#.*", "");
            file = file.startsWith("../") ? file.substring("../".length()) : "docs/" + file;
            List<Node> children = new ArrayList<>();
            for (Node child = node.getFirstChild(); child != null; child = child.getNext()) {
                children.add(child);
            }
            children.forEach(node::insertBefore);
            node.insertBefore(new Text(" ("));
            node.insertBefore(new Code(file));
            node.insertBefore(new Text(")"));
            node.unlink();
        }

        @Override
        public void visit(HtmlBlock block) {
            if (block.getLiteral().startsWith(COMMENT)) {
                block.unlink();
            }
        }

        @Override
        public void visit(CustomBlock block) {
            visitChildren(block);
            if (block instanceof TableBlock) {
                block.insertBefore(block("<div class=\"scrolled\" tabindex=\"0\">"));
                block.insertAfter(block("</div>"));
            }
        }
    }
}
