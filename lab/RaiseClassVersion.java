import java.io.IOException;
import java.io.OutputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassFile.StackMapsOption;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassTransform;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Copies a jar whose classes have the version of Java 5, which an archive of classes does not take, as one with the version
 * of Java 8 and its stack maps. The code stays as it is. For the archive of bin/lib/archive.sh only; needs JDK 24.
 *
 * <pre>java RaiseClassVersion.java OLD.jar NEW.jar</pre>
 */
final class RaiseClassVersion {
    private static final ClassTransform TRANSFORM = ClassTransform.transformingMethodBodies(
                    (code, element) -> code.with(element))
            .andThen((type, element) -> {
                if (element instanceof ClassFileVersion) {
                    type.withVersion(ClassFile.JAVA_8_VERSION, 0);
                } else {
                    type.with(element);
                }
            });

    private RaiseClassVersion() {}

    public static void main(String[] arguments) throws IOException {
        Path old = Path.of(arguments[0]);
        try (ZipFile in = new ZipFile(old.toFile());
                OutputStream file = Files.newOutputStream(Path.of(arguments[1]));
                ZipOutputStream out = new ZipOutputStream(file);
                URLClassLoader loader = new URLClassLoader(new URL[] {old.toUri().toURL()})) {
            ClassFile classes = ClassFile.of(
                    StackMapsOption.GENERATE_STACK_MAPS,
                    ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofResourceParsing(loader)));
            for (ZipEntry entry : Collections.list(in.entries())) {
                byte[] bytes = in.getInputStream(entry).readAllBytes();
                if (entry.getName().endsWith(".class")) {
                    var model = classes.parse(bytes);
                    if (model.majorVersion() < ClassFile.JAVA_6_VERSION) {
                        bytes = classes.transformClass(model, TRANSFORM);
                    }
                }
                out.putNextEntry(new ZipEntry(entry.getName()));
                out.write(bytes);
            }
        }
    }
}
