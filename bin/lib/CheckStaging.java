import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * Checks that the artifacts in a Maven repository, which is a folder, have what Maven Central demands. Prints one line for
 * each artifact, and what is missing; ends with status 1 when something is.
 */
class CheckStaging {
    private static final List<String> DEMANDED =
            List.of("name", "description", "url", "licenses/license/name", "developers/developer/name", "scm/url", "scm/connection");

    private static final String COMPONENTS = "-cyclonedx.json";
    private static final String SIGNATURE = ".asc";

    private final Path repository;
    private final List<String> missing = new ArrayList<>();

    /** Whether an artifact has a list of components. Then all that have a jar must have one. */
    private boolean hasComponents;

    private CheckStaging(Path repository) {
        this.repository = repository;
    }

    public static void main(String[] arguments) throws Exception {
        CheckStaging check = new CheckStaging(Path.of(arguments[0]));
        List<Path> all;
        try (Stream<Path> files = Files.walk(check.repository)) {
            all = files.filter(Files::isRegularFile).sorted().toList();
        }
        List<Path> poms = withEnding(all, ".pom");
        check.hasComponents = !withEnding(all, COMPONENTS).isEmpty();
        if (poms.isEmpty()) {
            check.missing.add("artifacts: there is no POM in " + check.repository);
        }
        for (Path pom : poms) {
            check.check(pom);
        }
        check.checkSignatures(all);
        check.missing.forEach(each -> System.out.println("missing: " + each));
        System.exit(check.missing.isEmpty() ? 0 : 1);
    }

    private static List<Path> withEnding(List<Path> files, String ending) {
        return files.stream().filter(file -> file.toString().endsWith(ending)).toList();
    }

    private void check(Path file) throws Exception {
        Element pom = read(file);
        String name = file.getFileName().toString().replaceFirst("\\.pom$", "");
        Element parent = parentOf(pom, file);
        for (String path : DEMANDED) {
            // Maven inherits all of these but the name.
            String value = text(pom, path);
            if (value.isEmpty() && parent != null && !path.equals("name")) {
                value = text(parent, path);
            }
            if (value.isEmpty()) {
                missing.add(name + ": <" + path.replace("/", "><") + "> in its POM and in that of its parent");
            }
        }
        List<String> endings = new ArrayList<>(List.of(".pom"));
        if (!text(pom, "packaging").equals("pom")) {
            endings.addAll(List.of(".jar", "-sources.jar", "-javadoc.jar"));
            if (hasComponents) {
                endings.add(COMPONENTS);
            }
        }
        for (String ending : endings) {
            for (String suffix : List.of("", ".sha1", ".md5")) {
                Path wanted = file.resolveSibling(name + ending + suffix);
                if (!Files.isRegularFile(wanted) || Files.size(wanted) == 0) {
                    missing.add(wanted.getFileName().toString());
                }
            }
        }
        System.out.println(name + " (" + endings.size() + (endings.size() == 1 ? " file)" : " files)"));
    }

    /** Where one file has a signature, all must have one. */
    private void checkSignatures(List<Path> files) {
        List<Path> signatures = withEnding(files, SIGNATURE);
        if (signatures.isEmpty()) {
            return;
        }
        for (Path file : files) {
            String name = file.getFileName().toString();
            if (!name.startsWith("maven-metadata")
                    && !name.matches(".*\\.(md5|sha[0-9]+|asc)")
                    && !signatures.contains(file.resolveSibling(name + SIGNATURE))) {
                missing.add(name + SIGNATURE);
            }
        }
    }

    /** Returns the parent's POM, which is staged as well; null if there is none. */
    private Element parentOf(Element pom, Path file) throws Exception {
        String artifact = text(pom, "parent/artifactId");
        if (artifact.isEmpty()) {
            return null;
        }
        Path folder = repository
                .resolve(text(pom, "parent/groupId").replace('.', '/'))
                .resolve(artifact)
                .resolve(text(pom, "parent/version"));
        List<Path> found = new ArrayList<>();
        if (Files.isDirectory(folder)) {
            try (Stream<Path> files = Files.list(folder)) {
                files.filter(each -> each.toString().endsWith(".pom")).forEach(found::add);
            }
        }
        if (found.isEmpty()) {
            missing.add(file.getFileName() + ": its parent " + artifact);
            return null;
        }
        return read(found.get(0));
    }

    private static Element read(Path file) throws Exception {
        try {
            return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file.toFile()).getDocumentElement();
        } catch (org.xml.sax.SAXException e) {
            throw new IOException(file + " is not XML: " + e.getMessage(), e);
        }
    }

    /** Returns the text of the first element at a path of names; empty if there is none. */
    private static String text(Element start, String path) {
        Element at = start;
        for (String name : path.split("/")) {
            Element next = null;
            for (Node node = at.getFirstChild(); node != null && next == null; node = node.getNextSibling()) {
                next = node instanceof Element element && element.getTagName().equals(name) ? element : null;
            }
            if (next == null) {
                return "";
            }
            at = next;
        }
        return at.getTextContent().strip();
    }
}
