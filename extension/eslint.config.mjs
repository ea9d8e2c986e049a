// ESLint, with the type-aware rules of typescript-eslint.
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['lib/', 'node_modules/', 'harness/out/'] },
  ...tseslint.configs.strictTypeChecked.map(config => ({ ...config, files: ['**/*.ts', '**/*.tsx'] })),
  {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', name: ['test', 'describe'], package: 'node:test' }] }
      ],
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'Text reaches the page as text only.' },
        { property: 'outerHTML', message: 'Text reaches the page as text only.' },
        { property: 'insertAdjacentHTML', message: 'Text reaches the page as text only.' }
      ]
    }
  }
);
