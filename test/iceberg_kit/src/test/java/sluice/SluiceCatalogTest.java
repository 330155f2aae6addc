package sluice;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.catalog.CatalogTests;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.RESTCatalog;
import org.junit.jupiter.api.BeforeEach;

/** The tests that Apache Iceberg has for every catalog, on the server of SLUICE_ICEBERG_URI. */
public class SluiceCatalogTest extends CatalogTests<RESTCatalog> {
  private RESTCatalog catalog;

  @BeforeEach
  public void connect() {
    catalog = initCatalog("sluice", Map.of());
    // Each test begins with an empty catalog.
    for (Namespace one : namespacesBelow(Namespace.empty())) {
      for (TableIdentifier table : catalog.listTables(one)) {
        catalog.dropTable(table, false);
      }
      catalog.dropNamespace(one);
    }
  }

  /** The namespaces, those inside of others first. */
  private List<Namespace> namespacesBelow(Namespace parent) {
    List<Namespace> found = new java.util.ArrayList<>();
    for (Namespace one : catalog.listNamespaces(parent)) {
      found.addAll(namespacesBelow(one));
      found.add(one);
    }
    return found;
  }

  @Override
  protected RESTCatalog catalog() {
    return catalog;
  }

  @Override
  protected RESTCatalog initCatalog(String name, Map<String, String> more) {
    Map<String, String> properties = new HashMap<>();
    properties.put("uri", System.getenv("SLUICE_ICEBERG_URI"));
    properties.put("token", System.getenv("SLUICE_KEY"));
    properties.put("warehouse", System.getenv("SLUICE_PROJECT"));
    properties.put("io-impl", "org.apache.iceberg.hadoop.HadoopFileIO");
    properties.putAll(more);
    RESTCatalog made = new RESTCatalog();
    made.initialize(name, properties);
    return made;
  }

  @Override
  protected boolean requiresNamespaceCreate() {
    return true;
  }

  @Override
  protected boolean supportsServerSideRetry() {
    return true;
  }

  @Override
  protected boolean supportsNestedNamespaces() {
    return true;
  }
}
